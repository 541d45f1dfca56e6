from pathlib import Path

import pytest

from rocmatrix.errors import BuildError, InputError, MissingRequirementError
from rocmatrix.images.build_failure import BuildLog, failure, instruction_lines
from rocmatrix.images.building import said_in
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.recipe import Recipe

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return load_recipe("debian", {"SUITE": "trixie"}, rocm=None, root=ROOT)


def _failed(recipe: Recipe, step: int, said: str, error: str) -> str:
    log = BuildLog(recipe)
    log.add(f"Step {step}/8 : RUN sh /context/install.sh")
    for line in said.splitlines():
        log.add(line)
    err = failure(log, error)
    assert isinstance(err, MissingRequirementError)
    return str(err)


MEANINGS = {
    "ERROR: Cache export is not supported for the docker driver.": "docker buildx create --use",
    "curl: (60) SSL certificate problem: self-signed certificate in certificate chain": "--ca-bundle FILE",
    "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed": "--ca-bundle FILE",
    "cp: write error: No space left on device": "the disk of the docker engine is full",
    "E: You don't have enough free space in /var/cache/apt/archives/.": "the disk of the docker engine is full",
    "E: Release file for http://m/debian/dists/forky/InRelease is expired (invalid since 23d)": "expired",
    "E: Version '7.0.2+dfsg-3' for 'hipcc' was not found": "rocmatrix images pin",
    "Error: Unable to find a match: gcc-toolset-13-gcc-c++": "rocmatrix images pin",
    "ERROR: No matching distribution found for rocm==7.14.0": "rocmatrix images pin",
    "sha256sum: WARNING: 1 computed checksum did NOT match": "not the one that was pinned",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.": "not the one that was pinned",
    "curl: (6) Could not resolve host: repo.radeon.com": "http_proxy",
    "Temporary failure resolving 'deb.debian.org'": "http_proxy",
    "no matching manifest for linux/amd64 in the manifest list entries": "linux/amd64",
    'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host': "--base",
    "manifest for quay.io/pypa/manylinux_2_28_x86_64:none not found: manifest unknown": "--base",
    "pull access denied for local/debian, repository does not exist or may require 'docker login'": "--base",
    "toomanyrequests: You have reached your pull rate limit": "docker login",
}


@pytest.mark.parametrize(("said", "advice"), MEANINGS.items())
def test_what_a_builder_says_is_told_with_its_line_and_what_to_do(recipe: Recipe, said: str, advice: str) -> None:
    message = _failed(recipe, 4, said, "The command '/bin/sh -c sh /context/install.sh' returned a non-zero code: 100")
    assert advice in message
    assert said in message
    assert "debian/Dockerfile:6: " in message


def test_an_instruction_that_fails_by_itself_is_told_with_its_last_words(recipe: Recipe) -> None:
    log = BuildLog(recipe)
    log.add("Step 4/8 : RUN sh /context/install.sh")
    log.add(" ---> Running in 0123456789ab")
    log.add("+ useradd builder")
    log.add("useradd: user 'builder' already exists")
    err = failure(log, "The command '/bin/sh -c sh /context/install.sh' returned a non-zero code: 9")
    assert isinstance(err, BuildError)
    assert "\n  | useradd: user 'builder' already exists" in str(err)
    assert "returned a non-zero code: 9" in str(err)
    assert str(err.where).endswith("debian/Dockerfile:6")


def test_pieces_of_a_line_and_their_colours_become_one_line() -> None:
    pieces = ({"stream": "\x1b[91mls: \x1b[0m"}, {"stream": "\x1b[91mno such file\n\x1b[0m"}, {"status": "Pulling"})
    assert "".join(map(said_in, pieces)) == "ls: no such file\nPulling\n"


@pytest.mark.parametrize(
    "said",
    [
        "dockerfile parse error line 3: unknown instruction: FRUM",
        "ERROR: failed to solve: dockerfile parse error on line 3: unknown instruction: FRUM",
    ],
)
def test_a_dockerfile_that_is_none_is_bad_input_at_its_line(recipe: Recipe, said: str) -> None:
    err = failure(BuildLog(recipe), said)
    assert isinstance(err, InputError)
    assert str(err.where).endswith("debian/Dockerfile:3")
    assert "unknown instruction: FRUM" in str(err)


def test_buildx_names_the_line_itself(recipe: Recipe) -> None:
    log = BuildLog(recipe)
    log.add("Dockerfile:5")
    assert log.where.endswith("debian/Dockerfile:5")


def test_an_older_buildkit_names_the_step_alone(recipe: Recipe) -> None:
    log = BuildLog(recipe)
    log.add(" > [2/3] RUN sh /context/install.sh:")
    assert log.where.endswith("debian/Dockerfile:6")
    log = BuildLog(recipe)
    log.add(" > [internal] load metadata for docker.io/library/debian:none:")
    assert log.where.endswith("debian/Dockerfile:4")


def test_instructions_are_counted_over_comments_and_continued_lines() -> None:
    text = "# syntax\nARG A\n\nFROM x \\\n  AS y\n# between\nRUN a \\\n  # inside\n  && b\nCMD c\n"
    assert list(instruction_lines(text)) == [2, 4, 7, 10]
