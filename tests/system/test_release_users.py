"""A released kernel as its users have it: the real client's public functions, in processes of their own.

torch is a stand-in with ROCm (``rocmatrix.release.user_process``), and in one test the real CPU torch that says it has
ROCm; the HIP runtime that the binary asks the loader for is the stub of the tests.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.events import discard
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.api_hub import ApiHub, limit_requests
from rocmatrix.release.credentials import Credential
from rocmatrix.release.stage import publish
from tests.golden.make_dist import DIST
from tests.system.conftest import StubBuilder, hip_soname
from tests.system.hub import TRUSTED, WRITER, RunningHub, serving
from tests.system.release_source import REPOSITORY, make_source
from tests.system.test_release import BRANCH, QUICK, TAG, references, release, tree

ROOT = Path(__file__).parents[2]
SECONDS = 120
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"
TRUSTED_REPOSITORY = f"{TRUSTED}/scale"
pytestmark = [
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]
STAND_IN = """
import ctypes, sys, types
sys.path.insert(0, sys.argv[2])
from rocmatrix.release.user_process import pretend_torch
torch = pretend_torch()
torch.__version__ = "2.13.0+rocm7.2"
torch.ops = types.SimpleNamespace(_scale_rocm_5ca1e000="its ops")
sys.modules["torch"] = torch
"""
REAL = """
import ctypes, sys
import torch
"""
USER = """
torch.version.hip = "7.2.0"
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
import kernels
from pathlib import Path
def attempt(function, *words, **named):
    try:
        return function(*words, **named)
    except Exception as err:
        return f"{type(err).__name__}: {err}"
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A Hub with a released kernel, and the stub of the HIP runtime."""

    hub: RunningHub
    commit: str
    stub: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, hip_stub: StubBuilder) -> Iterator[Place]:
    limit_requests()
    folder = tmp_path_factory.mktemp("users")
    with serving(folder) as hub:
        commit = release(hub, make_source(folder / "one")).commit
        trusted = make_source(folder / "two", repo_id=TRUSTED_REPOSITORY)
        there = ApiHub(hub.endpoint, Credential(token=WRITER, source="a test"))
        publish(trusted.wanted(), there, store=trusted.store, emit=discard, credential="a test", patience=QUICK)
        stub = hip_stub(hip_soname(DIST / "kernels/scale/build" / VARIANT))
        yield Place(hub=hub, commit=commit, stub=stub)


def user(place: Place, home: Path, script: str, *, offline: bool = False, torch: str = STAND_IN) -> list[str]:
    """Run a user's script, and return the lines that it prints."""
    environment = {**place.hub.environment(), "HOME": str(home), "HF_HOME": str(home / "hf")}
    if offline:
        environment["HF_HUB_OFFLINE"] = "1"
    done = subprocess.run(
        [sys.executable, "-I", "-c", torch + USER + script, str(place.stub), str(ROOT / "src")],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_kernel_is_installed_by_version_by_tag_and_by_commit(place: Place, tmp_path: Path) -> None:
    lines = user(
        place,
        tmp_path,
        f"""
for named in ({{"version": 2}}, {{"revision": "{TAG}"}}, {{"revision": "{place.commit}"}}, {{"revision": "{BRANCH}"}}):
    print(kernels.install_kernel("{REPOSITORY}", trust_remote_code=True, **named))
print(attempt(kernels.install_kernel, "{REPOSITORY}", trust_remote_code=True, version=3))
print(kernels.get_kernel("{REPOSITORY}", trust_remote_code=True, version=2).ops)
""",
    )
    *paths, missing, ops = lines
    assert {Path(path).name for path in paths} == {VARIANT}
    for path in paths:
        for published in (DIST / "kernels/scale/build" / VARIANT).glob("*.so"):
            assert (Path(path) / published.name).read_bytes() == published.read_bytes()
    assert "available versions: 2" in missing
    assert ops == "its ops"


def test_a_publisher_is_not_trusted_unless_the_hub_or_the_user_says_so(place: Place, tmp_path: Path) -> None:
    lines = user(
        place,
        tmp_path,
        f"""
print(attempt(kernels.install_kernel, "{REPOSITORY}", version=2))
print(kernels.install_kernel("{REPOSITORY}", version=2, trust_remote_code=["{REPOSITORY}"]).name)
print(kernels.install_kernel("{TRUSTED_REPOSITORY}", version=2).name)
""",
    )
    assert re.match(r"ValueError: .*trust", lines[0]), lines[0]
    assert lines[1:] == [VARIANT, VARIANT]


def lock(place: Place, folder: Path, repository: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the client's own ``kernels lock`` or ``kernels download`` for a project that depends on a kernel."""
    (folder / "pyproject.toml").write_text(f'[tool.kernels.dependencies]\n"{repository}" = 2\n')
    return subprocess.run(
        ["kernels", *words, str(folder)],
        env={**place.hub.environment(), "HF_HOME": str(folder / "hf")},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def test_a_locked_kernel_is_loaded_with_and_without_a_network(place: Place, tmp_path: Path) -> None:
    refused = lock(place, tmp_path, REPOSITORY, "lock")
    assert "not from a trusted publisher" in refused.stderr, (
        "kernels 0.17.2 locks what it trusts, and takes no other word"
    )
    done = lock(place, tmp_path, TRUSTED_REPOSITORY, "lock")
    assert done.returncode == 0, done.stderr
    (locked,) = json.loads((tmp_path / "kernels.lock").read_text())
    assert locked["dependency"] == {"repo-id": TRUSTED_REPOSITORY, "version": 2}
    named = f'"{TRUSTED_REPOSITORY}", lockfile=Path("{tmp_path / "kernels.lock"}")'
    assert user(place, tmp_path, f"print(kernels.get_locked_kernel({named}).ops)") == ["its ops"]
    done = lock(place, tmp_path, TRUSTED_REPOSITORY, "download", "--all-variants")
    assert done.returncode == 0, done.stderr
    load = f"print(attempt(kernels.load_kernel, {named}))"
    assert "Cannot find a local snapshot" in user(place, tmp_path, load, offline=True)[0], (
        "not even then: benchmarks lack"
    )
    snapshot = f'snapshot_download("{TRUSTED_REPOSITORY}", repo_type="kernel", revision="{BRANCH}")'
    user(place, tmp_path, f"from huggingface_hub import snapshot_download\n{snapshot}")
    assert user(place, tmp_path, load, offline=True)[0].startswith("<module")


def test_without_a_network_a_kernel_is_found_only_if_all_of_it_was_downloaded(place: Place, tmp_path: Path) -> None:
    """kernels 0.17.2 asks huggingface_hub for a whole snapshot, and ``get_kernel`` downloads one variant of several."""
    load = f'print(attempt(kernels.get_kernel, "{REPOSITORY}", version=2, trust_remote_code=True))'
    by_commit = load.replace("version=2", f'revision="{place.commit}"')
    assert user(place, tmp_path, load)[0].startswith("<module")
    for way in (load, by_commit):
        assert "Error" in user(place, tmp_path, way, offline=True)[0]
    snapshot = f'snapshot_download("{REPOSITORY}", repo_type="kernel", revision="{BRANCH}")'
    user(place, tmp_path, f"from huggingface_hub import snapshot_download\n{snapshot}")
    for way in (load, by_commit):
        assert user(place, tmp_path, way, offline=True)[0].startswith("<module")


def usage(place: Place, folder: Path) -> str:
    """Return the Python lines of the card that users see."""
    card = place.hub.api(None).hf_hub_download(REPOSITORY, "README.md", repo_type="kernel", local_dir=folder)
    return str(re.findall(r"```python\n(.*?)```", Path(card).read_text(), re.DOTALL)[0])


def test_the_usage_lines_of_the_card_run_as_they_stand(place: Place, tmp_path: Path) -> None:
    assert user(place, tmp_path, f"{usage(place, tmp_path)}\nprint(kernel.ops)") == ["its ops"]


@pytest.mark.needs_torch
def test_the_usage_lines_of_the_card_run_with_the_real_torch(place: Place, tmp_path: Path) -> None:
    said = user(place, tmp_path, f"{usage(place, tmp_path)}\nprint(kernel.ops)", torch=REAL)
    assert "_scale_rocm_5ca1e000" in said[0]


def test_a_large_file_whose_part_is_lost_arrives_whole(tmp_path: Path) -> None:
    """12 MB in parts of 5 MB: one part is refused, the answer to another is lost; users get every byte."""
    limit_requests()
    source = make_source(tmp_path / "source", large="# 12 MB\n" * 1_500_000)
    with serving(tmp_path) as hub:
        faults = (
            Fault(endpoint="lfs-part", kind=FaultKind.STATUS),
            Fault(endpoint="lfs-part", kind=FaultKind.REPLY_LOST, skip=1),
        )
        hub.faults.plan(*faults)
        release(hub, source)
        assert hub.faults.happened == faults
        path = "benchmarks/benchmark_large.py"
        assert tree(hub, references(hub)[1][TAG])[path].size == 12_000_000
        api = hub.api(None)
        fetched = api.hf_hub_download(REPOSITORY, path, repo_type="kernel", revision=TAG, local_dir=tmp_path / "user")
        assert Path(fetched).read_bytes() == (source.project / path).read_bytes()
        assert not list((hub.hub.root / f"kernels/{REPOSITORY}.git/lfs").glob("parts/*/*"))
