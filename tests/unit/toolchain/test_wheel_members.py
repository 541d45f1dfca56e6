import hashlib
from pathlib import Path

import pytest

from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Event, Notice, Transfer
from rocmatrix.toolchain.torch_headers import stable_header
from rocmatrix.toolchain.wheel import Wheel
from rocmatrix.toolchain.wheel_members import Fetched, fetch_members
from tests.unit.toolchain.wheel_server import HEADERS, NAME, Temper, make_wheel, serving

pytestmark = pytest.mark.usefixtures("_direct")


@pytest.fixture
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach the servers of these tests without the machine's proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return make_wheel(tmp_path).read_bytes()


def fetch(wheel: Wheel, tmp_path: Path) -> tuple[Fetched, dict[str, bytes], list[Event]]:
    folder = tmp_path / "fetched"
    folder.mkdir()
    events: list[Event] = []
    fetched = fetch_members(wheel, stable_header, folder, what="headers", emit=events.append)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return fetched, files, events


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def transfers(events: list[Event]) -> list[Transfer]:
    return [event for event in events if isinstance(event, Transfer)]


@pytest.mark.parametrize("temper", [Temper.RANGES, Temper.NO_SUFFIX_RANGES_NO_HEAD])
def test_ranges_move_only_a_part_of_the_wheel(tmp_path: Path, content: bytes, temper: Temper) -> None:
    with serving(content, temper) as served:
        fetched, files, events = fetch(served.wheel(sha256(content)), tmp_path)
    assert files == HEADERS
    assert fetched.how == "range requests"
    assert fetched.transferred == served.sent < len(content)
    assert all(asked.startswith("bytes=") for asked in served.requests)
    assert transfers(events)[-1] == Transfer(what="headers", received=served.sent, total=served.sent)
    assert not [event for event in events if isinstance(event, Notice)]


def test_a_server_without_ranges_sends_the_whole_wheel_and_that_is_said(tmp_path: Path, content: bytes) -> None:
    with serving(content, Temper.WHOLE) as served:
        fetched, files, events = fetch(served.wheel(sha256(content)), tmp_path)
    assert files == HEADERS
    assert fetched == Fetched(transferred=len(content), how="whole wheel")
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert notice.level == "warning"
    assert "no range requests" in notice.message
    assert "3 MB" in notice.message
    assert transfers(events)[-1] == Transfer(what="headers", received=len(content), total=len(content))


def test_a_local_wheel_is_read_in_place(tmp_path: Path, content: bytes) -> None:
    wheel = Wheel(url=(tmp_path / NAME).as_uri(), sha256=sha256(content), version="9.9.9")
    fetched, files, events = fetch(wheel, tmp_path)
    assert files == HEADERS
    assert fetched == Fetched(transferred=0, how="local wheel")
    assert events == []


@pytest.mark.parametrize(
    ("temper", "message"),
    [
        (Temper.UNAUTHORIZED, r"refuses .*\.whl without credentials \(401\)"),
        (Temper.NOT_FOUND, "404"),
        (Temper.CUT, "cannot be read"),
        (Temper.DAMAGED, "its SHA-256 is"),
    ],
)
def test_what_goes_wrong_on_the_way_is_one_clear_error(
    tmp_path: Path, content: bytes, temper: Temper, message: str
) -> None:
    with serving(content, temper) as served, pytest.raises(MissingRequirementError, match=message) as caught:
        fetch(served.wheel(sha256(content)), tmp_path)
    assert caught.value.where == "127.0.0.1"
    assert caught.value.fix


def test_no_server_is_a_missing_requirement_without_addresses_of_objects(tmp_path: Path) -> None:
    with serving(b"", Temper.RANGES) as served:
        wheel = served.wheel("")
    with pytest.raises(MissingRequirementError, match="cannot be read") as caught:
        fetch(wheel, tmp_path)
    assert "0x" not in str(caught.value)
    assert "Connection refused" in str(caught.value)


def test_a_damaged_local_wheel_is_named(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"not a zip archive")
    with pytest.raises(MissingRequirementError, match="not a zip file") as caught:
        fetch(Wheel(url=path.as_uri(), sha256="", version="9.9.9"), tmp_path)
    assert caught.value.where == str(tmp_path)


def test_credentials_in_netrc_are_used(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(content, Temper.RANGES, login="me:secret") as served:
        _, files, _ = fetch(served.wheel(sha256(content)), tmp_path)
    assert files == HEADERS


def test_a_file_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    make_wheel(tmp_path, {"torch/csrc/stable/../../../../../outside.h": b""})
    with pytest.raises(MissingRequirementError, match=r"outside\.h"):
        fetch(Wheel(url=(tmp_path / NAME).as_uri(), sha256="", version="9.9.9"), tmp_path)
    assert not list(tmp_path.rglob("outside.h"))
