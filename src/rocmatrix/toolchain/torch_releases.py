"""All headers of one torch, for units that are built for it alone: out of a wheel by range requests, kept in a cache.

pip is asked for the torch of the unit's ROCm first. Where it finds that wheel, the headers are its own and its
``torch.version`` names the ROCm. Else they come from whichever wheel of this torch pip finds (PyPI's is for CUDA): the
headers of ``c10/hip`` and its like are then missing, and that such a torch exists for this ROCm is what compat.toml
promises.

The cache holds headers by their digest, since several wheels have the same, and beside them an answer for each torch
and ROCm that was asked for.
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
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.text import in_words
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.torch_exports import PLATFORM, PYTHON, VERSION_FILE, read_versions
from rocmatrix.toolchain.wheel import Wheel, WheelRequest, locate_wheel
from rocmatrix.toolchain.wheel_members import fetch_members

_INCLUDE = "torch/include/"
_DATA = "torch_releases.toml"
_LOCK_TIMEOUT = 1800.0
_DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class KnownHeaders:
    """Headers of one kind of wheel: local part of its version (``cpu``; ``""`` for PyPI's), their number and digest."""

    local: str
    files: int
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of torch that per-torch units of its minor are compiled against; ``torch_releases.toml``."""

    minor: str
    version: str
    headers: tuple[KnownHeaders, ...]
    source: str
    date: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class _Releases:
    release: tuple[Release, ...]


@remember
def releases() -> tuple[Release, ...]:
    """Return the releases that are known, lowest first."""
    text = files(__package__).joinpath(_DATA).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), type=_Releases).release


def release_of(minor: str) -> Release:
    """Return the release that stands for a torch minor.

    Raises:
        InputError: none is known.
    """
    for release in releases():
        if release.minor == minor:
            return release
    known = in_words([release.minor for release in releases()])
    raise InputError(
        f"it is not known which release of torch {minor} has its headers, only of torch {known}",
        where=_DATA,
        fix="Use one of them, or bind to torch's stable ABI (torch.stable-abi in build.toml).",
    )


def release_headers(release: Release, rocm: str, *, cache: Path, emit: Emit) -> tuple[Path, HeadersOrigin]:
    """Return the include folder with all headers of a torch, and where they came from.

    Args:
        release: of torch.
        rocm: ROCm minor of the unit, as ``torch.version.hip`` says it.
        cache: folder that several runs share; several processes may use it at the same time.
        emit: told about transfers, and where ROCm's own wheel could not be read.

    Raises:
        MissingRequirementError: pip finds no wheel or cannot reach its index, or the wheel is not what it should be.
    """
    shelf = _Shelf(root=cache / "torch-include", release=release, rocm=rocm, emit=emit)
    try:
        shelf.root.mkdir(parents=True, exist_ok=True)
        with FileLock(shelf.root / ".lock", timeout=_LOCK_TIMEOUT):
            origin = shelf.cached()
            if origin is None:
                atomic.recover([shelf.root])
                origin = shelf.fetch()
    except Timeout as err:
        raise MissingRequirementError(
            f"another process has been fetching torch headers for {_LOCK_TIMEOUT / 60:.0f} minutes",
            where=str(shelf.root),
            fix="End it, then run again.",
        ) from err
    except OSError as err:
        raise MissingRequirementError(
            f"the cache cannot be used: {err.strerror or err}",
            where=str(shelf.root),
            fix="Free disk space or mend its permissions, or name another folder in ROCMATRIX_CACHE.",
        ) from err
    return shelf.place(origin.headers_digest) / "include", origin


@dataclass(frozen=True, kw_only=True)
class _Shelf:
    """The part of the cache for one torch and ROCm; whoever uses it holds the lock."""

    root: Path
    release: Release
    rocm: str
    emit: Emit

    def place(self, headers: Digest) -> Path:
        return self.root / headers.removeprefix("sha256:")[:_DIGITS]

    @property
    def answer(self) -> Path:
        return self.root / f"{self.release.version}-rocm{self.rocm}.json"

    def cached(self) -> HeadersOrigin | None:
        """Return the origin of what is in the cache; say so if it is there and is not what was fetched."""
        return self._read(self.answer)

    def _read(self, answer: Path) -> HeadersOrigin | None:
        try:
            origin = document.from_json(answer.read_bytes(), HeadersOrigin)
        except FileNotFoundError:
            return None
        except (OSError, document.DocumentError) as err:
            damage = str(err)
        else:
            place = self.place(origin.headers_digest)
            found = digest.of_folder(place / "include") if (place / "include").is_dir() else None
            if found == origin.headers_digest:
                return replace(origin, transferred=0, how="cache")
            damage = f"their digest is {found}, not {origin.headers_digest}" if found else "they are gone"
        message = f"the cached headers of torch {self.release.version} are damaged and are fetched again: {damage}"
        self.emit(Notice(level="warning", message=message, where=str(self.root)))
        return None

    def fetch(self) -> HeadersOrigin:
        wheel, own = self._wheel()
        if not own and (same := self._of_another_rocm(wheel)):
            atomic.write_file(self.answer, document.to_json(same))
            return same
        with tempfile.TemporaryDirectory(prefix=f"headers{atomic.PARTIAL}", dir=self.root) as scratch:
            staged = Path(scratch) / "staged"
            unpacked = Path(scratch) / "unpacked"
            unpacked.mkdir()
            what = f"torch {self.release.version} headers"
            fetched = fetch_members(wheel, _wanted, unpacked, what=what, emit=self.emit)
            hip = self._hip(unpacked / VERSION_FILE, wheel)
            staged.mkdir()
            (unpacked / _INCLUDE).rename(staged / "include")
            found = self._judged(digest.of_folder(staged / "include"), wheel)
            for path in (staged / "include").rglob("*"):
                if path.is_file():
                    path.chmod(0o444)
            atomic.replace_folder(self.place(found), staged)
        if own and hip != self.rocm:
            raise MissingRequirementError(
                f"torch.version.hip of {wheel.file_name} is {hip}, and this unit is for ROCm {self.rocm}",
                where=wheel.host,
                fix="Correct the pair in matrix.yaml, or let pip find the official wheel (`pip config list`).",
            )
        origin = HeadersOrigin(
            torch=wheel.version,
            wheel=wheel.file_name,
            wheel_digest=f"sha256:{wheel.sha256}" if wheel.sha256 else "",
            headers_digest=found,
            transferred=fetched.transferred,
            how=fetched.how,
            hip=hip,
        )
        atomic.write_file(self.answer, document.to_json(origin))
        return origin

    def _of_another_rocm(self, wheel: Wheel) -> HeadersOrigin | None:
        """Return the origin of a wheel's headers if they were fetched for another ROCm that has no wheel of its own."""
        for answer in sorted(self.root.glob(f"{self.release.version}-rocm*.json")):
            origin = self._read(answer)
            if origin and (origin.wheel, origin.hip) == (wheel.file_name, None):
                return origin
        return None

    def _wheel(self) -> tuple[Wheel, bool]:
        """Return the wheel that pip finds, and whether it is the one of the unit's ROCm.

        PyTorch names its wheels for ROCm by AMD's number of the release, which may not be HIP's.
        """
        names = [row.release for row in load_compat().releases if row.hip == self.rocm] or [self.rocm]
        try:
            return self._located(f"{self.release.version}+rocm{names[-1]}"), True
        except MissingRequirementError:
            wheel = self._located(self.release.version)
        message = (
            f"pip finds no torch {self.release.version} for ROCm {self.rocm}: the headers are those of "
            f"{wheel.file_name}, and that there is such a torch is promised by compat.toml, not read"
        )
        self.emit(Notice(level="info", message=message))
        return wheel, False

    def _located(self, version: str) -> Wheel:
        return locate_wheel(WheelRequest(name="torch", version=version, python=PYTHON, platform=PLATFORM))

    def _hip(self, version_file: Path, wheel: Wheel) -> str | None:
        """Return the ROCm that a wheel is for, ``None`` if it is for none."""
        try:
            return read_versions(version_file.read_bytes(), wheel.file_name)[1]
        except (InputError, FileNotFoundError) as err:
            raise MissingRequirementError(
                f"{wheel.file_name} has no {VERSION_FILE} that can be read: {err}",
                where=wheel.host,
                fix="Let pip find the official wheel (`pip config list` says where it looks), then run again.",
            ) from err

    def _judged(self, found: Digest, wheel: Wheel) -> Digest:
        """Return the digest of fetched headers unless they are others than were seen in such a wheel."""
        local = wheel.version.partition("+")[2]
        known = [entry.digest for entry in self.release.headers if entry.local == local]
        if known and found not in known:
            raise MissingRequirementError(
                f"the headers in {wheel.file_name} are not those that rocmatrix knows of torch {self.release.version}:"
                f" their digest is {found}, not {known[0]}",
                where=wheel.host,
                fix="Let pip find the official wheel (`pip config list` says where it looks), then run again.",
            )
        return found


def _wanted(name: str) -> str | None:
    return name if name.startswith(_INCLUDE) or name == VERSION_FILE else None
