import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocmatrix import digest
from rocmatrix.digest import Digest
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Event, Notice
from rocmatrix.toolchain.torch_headers import TorchPin, pin, pinned_headers, stable_header, stable_pin, torch_headers
from rocmatrix.toolchain.wheel import WheelRequest, locate_wheel, pip_network
from tests.unit.toolchain.wheel_server import HEADERS, NAME, Temper, make_wheel, serving


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the one wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder)
    return folder


def look_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure pip to look into a folder and nowhere else."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def shelf(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the wheel that this test may change, where pip looks for it."""
    folder = tmp_path / "shelf"
    shutil.copytree(wheels, folder)
    look_into(folder, monkeypatch)
    return folder


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> TorchPin:
    expected = tmp_path_factory.mktemp("expected")
    for name, content in HEADERS.items():
        (expected / name).parent.mkdir(parents=True, exist_ok=True)
        (expected / name).write_bytes(content)
    return TorchPin(
        version="9.9.9",
        python="3.11",
        platform="manylinux_2_28_x86_64",
        headers_digest=digest.of_folder(expected),
        source="these tests",
        date="2026-11-29",
        verified=True,
    )


@pytest.fixture(scope="module")
def filled(wheels: Path, wanted: TorchPin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has the headers."""
    cache = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as monkeypatch:
        look_into(wheels, monkeypatch)
        pinned_headers(wanted, cache=cache, emit=lambda _: None)
    return cache


def get(wanted: TorchPin, cache: Path) -> tuple[Path, str, list[Event]]:
    events: list[Event] = []
    include, origin = pinned_headers(wanted, cache=cache, emit=events.append)
    return include, origin.how, events


def test_headers_come_from_the_wheel_that_pip_finds(tmp_path: Path, shelf: Path, wanted: TorchPin) -> None:
    include, origin = pinned_headers(wanted, cache=tmp_path / "cache", emit=lambda _: None)
    assert digest.of_folder(include) == wanted.headers_digest == origin.headers_digest
    assert (origin.torch, origin.wheel, origin.how) == ("9.9.9", NAME, "local wheel")
    assert origin.wheel_digest == digest.of_file(shelf / NAME)


def test_the_second_time_they_come_from_the_cache_without_pip(
    filled: Path, wanted: TorchPin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    _, how, events = get(wanted, filled)
    assert (how, events) == ("cache", [])


@pytest.mark.parametrize("damage", ["changed", "missing", "extra", "no origin"])
@pytest.mark.usefixtures("shelf")
def test_a_damaged_cache_is_said_and_fetched_again(tmp_path: Path, filled: Path, wanted: TorchPin, damage: str) -> None:
    shutil.copytree(filled, tmp_path / "cache")
    (include,) = (tmp_path / "cache/torch-headers").glob("*/include")
    header = include / "torch/csrc/stable/tensor.h"
    match damage:
        case "changed":
            header.write_text("// tampered\n")
        case "missing":
            header.unlink()
        case "extra":
            header.with_name("extra.h").write_text("")
        case _:
            (include.parent / "origin.json").unlink()
    again, how, events = get(wanted, tmp_path / "cache")
    assert how == "local wheel"
    assert digest.of_folder(again) == wanted.headers_digest
    assert next(event.message for event in events if isinstance(event, Notice)).startswith(
        "the cached headers of torch"
    )
    assert get(wanted, tmp_path / "cache")[1:] == ("cache", [])


def test_a_wheel_with_other_headers_is_refused_and_nothing_is_cached(
    tmp_path: Path, shelf: Path, wanted: TorchPin
) -> None:
    make_wheel(shelf, HEADERS | {"torch/csrc/stable/tensor.h": b"// other\n"})
    with pytest.raises(MissingRequirementError, match=r"are not those that rocmatrix knows of torch 9\.9\.9"):
        get(wanted, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache/torch-headers").iterdir()] == [".lock"]


def test_without_a_wheel_the_error_says_what_pip_said(tmp_path: Path, shelf: Path, wanted: TorchPin) -> None:
    (shelf / NAME).unlink()
    with pytest.raises(MissingRequirementError, match=r"pip finds no wheel of torch 9\.9\.9: Could not find") as caught:
        get(wanted, tmp_path / "cache")
    assert "pip config list" in str(caught.value)


def test_offline_the_error_says_that_the_index_cannot_be_reached(
    tmp_path: Path, wanted: TorchPin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(MissingRequirementError, match="its index cannot be reached"):
        get(wanted, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.h"))


def test_headers_come_over_http_by_ranges_from_a_page_that_pip_is_configured_with(
    tmp_path: Path, shelf: Path, wanted: TorchPin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving((shelf / NAME).read_bytes(), Temper.RANGES) as served:
        monkeypatch.setenv("PIP_FIND_LINKS", served.url)
        _, how, _ = get(wanted, tmp_path / "cache")
    assert how == "range requests"


@pytest.mark.usefixtures("shelf")
def test_two_at_a_time_fetch_once(tmp_path: Path, wanted: TorchPin) -> None:
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: get(wanted, tmp_path / "cache")[1], range(4)))
    assert sorted(results) == ["cache", "cache", "cache", "local wheel"]


@pytest.mark.usefixtures("shelf")
def test_a_cache_that_cannot_be_written_is_a_missing_requirement(tmp_path: Path, wanted: TorchPin) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(MissingRequirementError, match="the cache cannot be used") as caught:
        get(wanted, tmp_path / "cache")
    assert "ROCMATRIX_CACHE" in str(caught.value)


def test_a_torch_that_is_not_pinned_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the headers of torch 1\.0\.0 are not pinned, only those of 2\.13\.0"):
        torch_headers("1.0.0", cache=tmp_path, emit=lambda _: None)


def test_the_pin_of_stable_units_is_verified_and_says_where_it_comes_from() -> None:
    assert stable_pin() == pin("2.13.0")
    assert stable_pin().verified
    assert stable_pin().headers_digest == Digest(f"sha256:{stable_pin().headers_digest[7:]}")
    assert stable_pin().source
    assert stable_pin().date


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("torch/include/torch/csrc/stable/library.h", "torch/csrc/stable/library.h"),
        ("torch/include/torch/headeronly/util/Half.h", "torch/headeronly/util/Half.h"),
        ("torch/include/torch/csrc/inductor/aoti_torch/generated/c_shim_cuda.h",) * 2,
        ("torch/include/torch/csrc/inductor/aoti_torch/utils.h", None),
        ("torch/include/ATen/Tensor.h", None),
        ("torch/csrc/stable/library.h", None),
    ],
)
def test_only_headers_for_stable_bindings_are_taken(name: str, path: str | None) -> None:
    assert stable_header(name) == (path and path.removeprefix("torch/include/"))


def test_pip_states_url_hash_and_version(shelf: Path) -> None:
    wheel = locate_wheel(WheelRequest(name="torch", version="9.9.9", python="3.11", platform="manylinux_2_28_x86_64"))
    assert wheel.url == (shelf / NAME).as_uri()
    assert f"sha256:{wheel.sha256}" == digest.of_file(shelf / NAME)
    assert (wheel.version, wheel.file_name, wheel.host) == ("9.9.9", NAME, "this machine")


def test_certificates_and_proxy_come_from_pips_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\ncert = /global.pem\nproxy = http://proxy:3128\n[install]\ncert = /install.pem\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    for name in ("PIP_CERT", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert pip_network().certificate_bundle == "/install.pem"
    assert pip_network().proxy == "http://proxy:3128"
    monkeypatch.setenv("PIP_CERT", "/environment.pem")
    assert pip_network().certificate_bundle == "/environment.pem"
