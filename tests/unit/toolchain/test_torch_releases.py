"""All headers of one torch: which wheel they come from, what the record says of it, and what the cache keeps."""

import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix import digest
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Event, Notice
from rocmatrix.plan.compat import load_compat
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.torch_releases import KnownHeaders, Release, release_headers, release_of, releases

HEADERS = {"torch/library.h": b"// library\n", "ATen/ATen.h": b"// ATen\n"}
OF_ROCM = {**HEADERS, "c10/hip/HIPStream.h": b"// stream\n"}
RELEASE = replace(release_of("2.12"), version="9.9.9", headers=())


def make_wheel(shelf: Path, version: str, hip: str | None, headers: dict[str, bytes]) -> None:
    """Put a wheel of torch on a shelf."""
    info = f"torch-{version}.dist-info"
    members = {f"torch/include/{name}": content for name, content in headers.items()}
    members["torch/version.py"] = f"__version__ = {version!r}\ncuda = None\nhip: str = {hip!r}\n".encode()
    members["torch/lib/libtorch_cpu.so"] = b"\0" * 100_000
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n"
    with zipfile.ZipFile(shelf / f"torch-{version}-cp311-cp311-manylinux_2_28_x86_64.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in members))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with PyPI's wheel, where pip looks and nowhere else."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    make_wheel(folder, "9.9.9", None, HEADERS)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


def get(cache: Path, release: Release = RELEASE, rocm: str = "7.2") -> tuple[Path, HeadersOrigin, list[Event]]:
    events: list[Event] = []
    include, origin = release_headers(release, rocm, cache=cache, emit=events.append)
    return include, origin, events


def test_the_wheel_for_the_units_rocm_is_preferred_and_names_its_rocm(tmp_path: Path, shelf: Path) -> None:
    make_wheel(shelf, "9.9.9+rocm7.2", "7.2.53211-e1a6bc5663", OF_ROCM)
    include, origin, events = get(tmp_path)
    assert (origin.torch, origin.hip, origin.how) == ("9.9.9+rocm7.2", "7.2", "local wheel")
    assert (include / "c10/hip/HIPStream.h").is_file()
    assert [event for event in events if isinstance(event, Notice)] == []


def test_without_it_the_pair_is_promised_and_that_is_said(tmp_path: Path, shelf: Path) -> None:
    include, origin, events = get(tmp_path)
    assert (origin.torch, origin.hip) == ("9.9.9", None)
    assert digest.of_folder(include) == origin.headers_digest
    assert sorted(path.name for path in include.rglob("*.h")) == ["ATen.h", "library.h"]
    (said,) = (event.message for event in events if isinstance(event, Notice))
    assert said.startswith("pip finds no torch 9.9.9 for ROCm 7.2")
    assert "promised by compat.toml, not read" in said
    assert shelf.is_dir()


def test_a_rocm_that_numbers_itself_otherwise_is_asked_for_by_its_release(tmp_path: Path, shelf: Path) -> None:
    (row,) = (row for row in load_compat().releases if row.hip == "7.15")
    make_wheel(shelf, f"9.9.9+rocm{row.release}", "7.15.26333", OF_ROCM)
    assert get(tmp_path, rocm="7.15")[1].hip == "7.15"


def test_a_wheel_that_is_for_another_rocm_than_its_name_says_is_refused(tmp_path: Path, shelf: Path) -> None:
    make_wheel(shelf, "9.9.9+rocm7.2", "7.1.25424", OF_ROCM)
    with pytest.raises(MissingRequirementError, match=r"is 7\.1, and this unit is for ROCm 7\.2"):
        get(tmp_path)


@pytest.mark.usefixtures("shelf")
def test_headers_that_are_not_those_of_the_release_are_refused(tmp_path: Path) -> None:
    known = KnownHeaders(local="", files=2, digest=digest.of_bytes(b"other"))
    with pytest.raises(MissingRequirementError, match=r"not those that rocmatrix knows of torch 9\.9\.9"):
        get(tmp_path, replace(RELEASE, headers=(known,)))
    assert not [path for path in (tmp_path / "torch-include").iterdir() if path.is_dir()]


@pytest.fixture
def filled(tmp_path: Path, shelf: Path) -> Path:
    assert shelf.is_dir()
    get(tmp_path / "cache")
    return tmp_path / "cache"


def test_the_second_time_nobody_is_asked(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    _, origin, events = get(filled)
    assert (origin.how, origin.transferred, events) == ("cache", 0, [])


def test_cached_headers_cannot_be_changed_by_accident(filled: Path) -> None:
    files = list(filled.rglob("*.h"))
    assert files
    assert {path.stat().st_mode & 0o222 for path in files} == {0}


@pytest.mark.parametrize("damage", ["changed", "gone", "answer"])
def test_damaged_headers_are_said_and_fetched_again(filled: Path, damage: str) -> None:
    (header,) = filled.rglob("library.h")
    match damage:
        case "changed":
            header.chmod(0o644)
            header.write_text("// tampered\n")
        case "gone":
            header.unlink()
        case _:
            next(filled.rglob("*.json")).write_text("{")
    include, origin, events = get(filled)
    assert digest.of_folder(include) == origin.headers_digest
    assert next(event.message for event in events if isinstance(event, Notice)).startswith(
        "the cached headers of torch"
    )
    assert get(filled)[1].how == "cache"


def test_another_rocm_without_a_wheel_of_its_own_gets_the_same_headers(filled: Path) -> None:
    include, origin, events = get(filled, rocm="7.1")
    assert origin.transferred == 0
    assert include == get(filled)[0]
    assert any("for ROCm 7.1" in event.message for event in events if isinstance(event, Notice))


def test_without_any_wheel_it_is_said_what_pip_said(tmp_path: Path, shelf: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"pip finds no wheel of torch 8\.8\.8"):
        get(tmp_path, replace(RELEASE, version="8.8.8"))
    assert shelf.is_dir()


def test_what_is_said_to_be_verified_has_a_digest_and_every_torch_is_one_of_compat() -> None:
    assert all(bool(release.headers) == release.verified for release in releases())
    assert all(release.version == f"{release.minor}.0" for release in releases())
    assert {release.minor for release in releases()} <= {row.minor for row in load_compat().torches}
