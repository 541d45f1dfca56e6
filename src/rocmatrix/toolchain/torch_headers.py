"""torch's headers for stable-ABI units: out of a wheel by range requests, pinned by digest, kept in a cache.

Only the part that a binding to torch's stable ABI may use is taken: ``torch/csrc/stable``, ``torch/headeronly`` and the
C functions below ``torch/csrc/inductor/aoti_torch``. Each of these headers compiles with nothing else of torch there,
except two that torch itself closes for stable builds (``shim_cpu.h``, ``shim_xpu.h``). The digest of these files is the
same for CPU and CUDA wheels of one torch, so that it does not matter which of them pip finds.
"""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import dataclass, replace
from functools import cache as remember
from importlib.resources import files
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from rocmatrix import atomic, digest, document
from rocmatrix.digest import Digest
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Emit, Notice
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.wheel import WheelRequest, locate_wheel
from rocmatrix.toolchain.wheel_members import fetch_members

_INCLUDE = "torch/include/"
_STABLE_PARTS = (
    "torch/csrc/stable/",
    "torch/headeronly/",
    "torch/csrc/inductor/aoti_torch/c/",
    "torch/csrc/inductor/aoti_torch/generated/",
)
_ORIGIN = "origin.json"
_LOCK_TIMEOUT = 1800.0


@dataclass(frozen=True, kw_only=True)
class TorchPin:
    """A torch whose headers may be used.

    Attributes:
        version: e.g. ``2.13.0``.
        python: interpreter of the wheel that is looked for; the headers are the same in all.
        platform: platform tag of that wheel.
        headers_digest: of the header files, names relative to ``torch/include`` and contents.
        source: where the digest was read.
        date: when.
        verified: whether more than one wheel was seen to give it.
    """

    version: str
    python: str
    platform: str
    headers_digest: Digest
    source: str
    date: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class _Pins:
    stable: str
    torch: tuple[TorchPin, ...]


@remember
def _pins() -> _Pins:
    text = files(__package__).joinpath("torch_headers.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), type=_Pins)


def stable_pin() -> TorchPin:
    """Return the torch whose headers all stable-ABI units are compiled against, whatever their level."""
    return pin(_pins().stable)


def pin(version: str) -> TorchPin:
    """Return what is known of a torch's headers.

    Raises:
        InputError: nothing is.
    """
    known = {entry.version: entry for entry in _pins().torch}
    if version not in known:
        raise InputError(
            f"the headers of torch {version} are not pinned, only those of {', '.join(known)}",
            where="torch_headers.toml",
            fix="Add the version there with the digest of its headers.",
        )
    return known[version]


def stable_header(name: str) -> str | None:
    """Return the path below ``torch/include`` of a wheel's file if stable-ABI bindings may use it; else ``None``."""
    path = name.removeprefix(_INCLUDE)
    return path if name.startswith(_INCLUDE) and path.startswith(_STABLE_PARTS) else None


def torch_headers(version: str, *, cache: Path, emit: Emit) -> tuple[Path, HeadersOrigin]:
    """Return the include folder with a torch's stable headers, and where they came from.

    Args:
        version: a pinned version, e.g. ``2.13.0``.
        cache: folder that several runs share; several processes may use it at the same time.
        emit: told about transfers, and about what had to be fetched again.

    Raises:
        InputError: the version is not pinned.
        MissingRequirementError: the headers are not in the cache and cannot be fetched, or the wheel has others.
    """
    return pinned_headers(pin(version), cache=cache, emit=emit)


def pinned_headers(wanted: TorchPin, *, cache: Path, emit: Emit) -> tuple[Path, HeadersOrigin]:
    """Do what ``torch_headers`` does for a pin."""
    root = cache / "torch-headers"
    place = root / f"{wanted.version}-{wanted.headers_digest.removeprefix('sha256:')[:12]}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock", timeout=_LOCK_TIMEOUT):
            origin = _cached(place, wanted, emit)
            if origin is None:
                atomic.recover([root])
                origin = _fetch(place, wanted, emit)
    except Timeout as err:
        raise MissingRequirementError(
            f"another process has been fetching torch headers for {_LOCK_TIMEOUT / 60:.0f} minutes",
            where=str(root),
            fix="End it, then run again.",
        ) from err
    except OSError as err:
        raise MissingRequirementError(
            f"the cache cannot be used: {err.strerror or err}",
            where=str(root),
            fix="Free disk space or mend its permissions, or name another folder in ROCMATRIX_CACHE.",
        ) from err
    return place / "include", origin


def _cached(place: Path, wanted: TorchPin, emit: Emit) -> HeadersOrigin | None:
    """Return the origin of cached headers if they are the pinned ones; say so if they are there and are not."""
    if not place.is_dir():
        return None
    try:
        origin = document.from_json((place / _ORIGIN).read_bytes(), HeadersOrigin)
        found = digest.of_folder(place / "include")
    except (OSError, document.DocumentError) as err:
        damage = str(err)
    else:
        if found == wanted.headers_digest:
            return replace(origin, transferred=0, how="cache")
        damage = f"their digest is {found}, not {wanted.headers_digest}"
    message = f"the cached headers of torch {wanted.version} are damaged and are fetched again: {damage}"
    emit(Notice(level="warning", message=message, where=str(place)))
    return None


def _fetch(place: Path, wanted: TorchPin, emit: Emit) -> HeadersOrigin:
    """Put the pinned headers into their place in the cache."""
    request = WheelRequest(name="torch", version=wanted.version, python=wanted.python, platform=wanted.platform)
    wheel = locate_wheel(request)
    with tempfile.TemporaryDirectory(prefix=f"{place.name}{atomic.PARTIAL}", dir=place.parent) as scratch:
        staged = Path(scratch) / "headers"
        include = staged / "include"
        include.mkdir(parents=True)
        fetched = fetch_members(wheel, stable_header, include, what=f"torch {wanted.version} headers", emit=emit)
        found = digest.of_folder(include)
        if found != wanted.headers_digest:
            raise MissingRequirementError(
                f"the headers in {wheel.file_name} are not those that rocmatrix knows of torch {wanted.version}:"
                f" their digest is {found}, not {wanted.headers_digest}",
                where=wheel.host,
                fix="Let pip find the official wheel (`pip config list` says where it looks), then run again.",
            )
        origin = HeadersOrigin(
            torch=wheel.version,
            wheel=wheel.file_name,
            wheel_digest=f"sha256:{wheel.sha256}" if wheel.sha256 else "",
            headers_digest=found,
            transferred=fetched.transferred,
            how=fetched.how,
        )
        atomic.write_file(staged / _ORIGIN, document.to_json(origin))
        atomic.replace_folder(place, staged)
    return origin
