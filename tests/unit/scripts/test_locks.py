"""The locks in requirements/ agree with pyproject.toml and with each other."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
DEPENDENCIES = [*PROJECT["project"]["dependencies"], *EXTRAS["embedded"], *EXTRAS["emulator"]]
GROUPS = PROJECT["dependency-groups"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SOURCES = {
    "pip": GROUPS["pip"],
    "release": [*PROJECT["project"]["dependencies"], *EXTRAS["release"]],
    "run": DEPENDENCIES,
    "test": [*DEPENDENCIES, *EXTRAS["hub"], *EXTRAS["release"], *GROUPS["test"]],
    "torch": GROUPS["torch"],
    "watch": [*DEPENDENCIES, *EXTRAS["release"]],
}
PIN = re.compile(
    r"^(?P<requirement>[A-Za-z0-9][^\\\n]*?) \\\n(?P<hashes>(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def text(name: str) -> str:
    return (REPOSITORY / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def pins(name: str, python: str) -> dict[str, Version]:
    """Return package -> version that a lock names for a Python minor on x86-64 Linux."""
    machine = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    machine |= {"platform_machine": "x86_64", "implementation_name": "cpython"}
    machine |= {"platform_python_implementation": "CPython"}
    found: dict[str, Version] = {}
    for match in PIN.finditer(text(name)):
        requirement = Requirement(match["requirement"])
        if requirement.marker is None or requirement.marker.evaluate(machine):
            (specifier,) = requirement.specifier
            assert specifier.operator == "=="
            assert canonicalize_name(requirement.name) not in found
            found[canonicalize_name(requirement.name)] = Version(specifier.version)
    return found


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", SOURCES)
def test_every_dependency_is_locked_within_its_range(name: str, python: str) -> None:
    locked = pins(name, python)
    for source in SOURCES[name]:
        requirement = Requirement(source)
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in requirements/{name}.txt: run requirements/refresh.sh"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} is locked"


@pytest.mark.parametrize("name", SOURCES)
def test_every_line_is_a_pin_with_hashes(name: str) -> None:
    rest = re.sub(r"^ *#.*\n", "", PIN.sub("", text(name)), flags=re.MULTILINE)
    assert not rest.strip()


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("upper", "lower"), [("test", "run"), ("torch", "test"), ("watch", "run"), ("watch", "release")]
)
def test_what_two_locks_share_has_one_version(upper: str, lower: str, python: str) -> None:
    above, below = pins(upper, python), pins(lower, python)
    assert {name: above[name] for name in above.keys() & below.keys()} == {
        name: below[name] for name in above.keys() & below.keys()
    }


def test_everything_of_a_run_is_also_there_in_the_tests() -> None:
    assert pins("run", "3.11").keys() <= pins("test", "3.11").keys()


@pytest.mark.parametrize("name", SOURCES)
def test_torch_is_in_no_lock(name: str) -> None:
    assert not {package for package in pins(name, "3.11") if package == "torch" or package.startswith("nvidia")}


@pytest.mark.parametrize("name", SOURCES)
def test_no_lock_names_an_index(name: str) -> None:
    assert "://" not in text(name)
