"""Some files out of a wheel, wherever it lies, without fetching the rest where the server allows it.

A zip archive has its directory at the end, so a few megabytes by HTTP range requests (RFC 9110, section 14) replace the
hundreds that a torch wheel has. A server that does not do ranges sends the whole wheel, which is said.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit, Notice, Transfer
from rocmatrix.toolchain.wheel import Wheel, pip_network

if TYPE_CHECKING:
    import requests

_DIRECTORY_GUESS = 1536 * 1024
"""Bytes read from the end at first: the directories of torch wheels have 1.2 to 1.3 MB (measured, 2.10 to 2.15)."""

_BLOCK = 1024 * 1024
_GAP = 256 * 1024
"""Bytes that are fetched though nobody wants them, to save a request: torch's 9,400 headers lie side by side."""
_TIMEOUT = (30.0, 120.0)
"""Seconds to connect, and between two blocks."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """How files came out of a wheel.

    Attributes:
        transferred: bytes that came over the network.
        how: ``range requests``, ``whole wheel`` or ``local wheel``.
    """

    transferred: int
    how: str


def fetch_members(wheel: Wheel, wanted: Callable[[str], str | None], folder: Path, *, what: str, emit: Emit) -> Fetched:
    """Write the wanted files of a wheel below a folder.

    Args:
        wheel: where it lies.
        wanted: takes a name in the wheel, returns the path below ``folder``, or ``None`` for a file not wanted.
        folder: an empty folder.
        what: name of the transfer in events.
        emit: told about the transfer, and why a whole wheel is fetched if it is.

    Raises:
        MissingRequirementError: the server cannot be reached or refuses, or what it sends is damaged.
    """
    if urlsplit(wheel.url).scheme == "file":
        return _read_local(Path(unquote(urlsplit(wheel.url).path)), wanted, folder)
    import requests  # noqa: PLC0415 - only where something is fetched

    try:
        return _Download(wheel, what, emit).fetch(wanted, folder)
    except (requests.RequestException, zipfile.BadZipFile, OSError, EOFError) as err:
        raise MissingRequirementError(
            f"{wheel.file_name} cannot be read: {_plain(err)}",
            where=wheel.host,
            fix="Check the network, the proxy and certificate settings of pip and the disk, then run again.",
        ) from err


class _Download:
    """One wheel on one server, with the bytes that were transferred so far."""

    def __init__(self, wheel: Wheel, what: str, emit: Emit) -> None:
        self._wheel = wheel
        self._what = what
        self._emit = emit
        self._received = 0
        self._session = _session()
        self._session.hooks["response"].append(self._count_part)

    def fetch(self, wanted: Callable[[str], str | None], folder: Path) -> Fetched:
        with self._session:
            size = self._size_if_ranges()
            if size is None:
                self._fetch_whole(wanted, folder)
                how = "whole wheel"
            else:
                self._fetch_ranges(size, wanted, folder)
                how = "range requests"
        self._tell(self._received)
        return Fetched(transferred=self._received, how=how)

    def _size_if_ranges(self) -> int | None:
        """Return the size of the wheel in bytes if its server does ranges; else ``None``."""
        headers = {"Range": "bytes=0-0", "Accept-Encoding": "identity"}
        with self._session.get(self._wheel.url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                raise MissingRequirementError(
                    f"the server refuses {self._wheel.file_name} without credentials ({answer.status_code})",
                    where=self._wheel.host,
                    fix="Put them into ~/.netrc, or let pip download the wheel and name its folder as find-links.",
                )
            total = answer.headers.get("Content-Range", "").rpartition("/")[2]
            if answer.status_code == HTTPStatus.PARTIAL_CONTENT and total.isdecimal():
                return int(total)
            if answer.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                answer.raise_for_status()
        return None

    def _fetch_ranges(self, size: int, wanted: Callable[[str], str | None], folder: Path) -> None:
        from remotezip import RemoteFetcher, RemoteZip, RemoteZipError  # noqa: PLC0415 - only where something is fetched

        class Fetcher(RemoteFetcher):  # type: ignore[misc] # remotezip has no annotations
            """Knows the size already: not every server answers HEAD, or a range that counts from the end."""

            def get_file_size(self) -> int:
                return size

        try:
            with (
                RemoteZip(
                    self._wheel.url,
                    initial_buffer_size=min(_DIRECTORY_GUESS, size),
                    session=self._session,
                    fetcher=Fetcher,
                    support_suffix_range=False,
                    timeout=_TIMEOUT,
                    headers={"Accept-Encoding": "identity"},
                ) as archive,
                tempfile.TemporaryFile(dir=folder.parent) as copy,
            ):
                for first, last in _spans(archive, wanted):
                    copy.seek(first)
                    self._fetch_span(first, last, copy)
                copy.seek(archive.start_dir)
                archive.fp.seek(archive.start_dir)
                copy.write(archive.fp.read())
                with zipfile.ZipFile(copy) as part:
                    _extract(part, wanted, folder)
        except RemoteZipError as err:
            raise OSError(str(err)) from err

    def _fetch_span(self, first: int, last: int, copy: IO[bytes]) -> None:
        """Write the bytes of the wheel from ``first`` to ``last``, both included, to where a copy is positioned."""
        headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
        with self._session.get(self._wheel.url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            if answer.status_code != HTTPStatus.PARTIAL_CONTENT:
                raise OSError(f"the server did ranges at first, and now answers one with {answer.status_code}")
            missing = last - first + 1
            for block in answer.iter_content(_BLOCK):
                missing -= copy.write(block)
            if missing:
                raise EOFError(
                    f"the server sent {abs(missing)} bytes {'less' if missing > 0 else 'more'} than asked for"
                )

    def _fetch_whole(self, wanted: Callable[[str], str | None], folder: Path) -> None:
        hasher = hashlib.sha256()
        with (
            tempfile.TemporaryFile(dir=folder.parent) as copy,
            self._session.get(self._wheel.url, stream=True, timeout=_TIMEOUT) as answer,
        ):
            answer.raise_for_status()
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            size = f"{total / 1e6:.0f} MB" if total else "of unknown size"
            message = f"the server does no range requests: the whole {self._wheel.file_name} is fetched, {size}"
            self._emit(Notice(level="warning", message=message, where=self._wheel.host))
            for block in answer.iter_content(_BLOCK):
                copy.write(block)
                hasher.update(block)
                self._received += len(block)
                self._tell(total)
            if self._wheel.sha256 not in {"", hasher.hexdigest()}:
                raise OSError(f"its SHA-256 is {hasher.hexdigest()}, the index says {self._wheel.sha256}")
            with zipfile.ZipFile(copy) as archive:
                _extract(archive, wanted, folder)

    def _count_part(self, answer: requests.Response, *_args: object, **_more: object) -> None:
        """Count the bytes of an answer to a range request; a whole wheel is counted while it is read."""
        if answer.status_code == HTTPStatus.PARTIAL_CONTENT:
            self._received += int(answer.headers.get("Content-Length", "0"))
            self._tell(None)

    def _tell(self, total: int | None) -> None:
        self._emit(Transfer(what=self._what, received=self._received, total=total))


def _session() -> requests.Session:
    """Return a session that reaches servers as pip does: environment variables and netrc, then pip's configuration."""
    import requests  # noqa: PLC0415 - only where something is fetched

    session = requests.Session()
    network = pip_network()
    bundle = network.certificate_bundle or os.environ.get("SSL_CERT_FILE")
    if bundle:
        session.verify = bundle
    if network.proxy:
        session.proxies = {"http": network.proxy, "https": network.proxy}
    return session


def _spans(archive: zipfile.ZipFile, wanted: Callable[[str], str | None]) -> list[tuple[int, int]]:
    """Return the parts of a wheel with its wanted files, as first and last byte: close neighbours are one part.

    A file reaches at most to where the next one begins; how long its header is, the directory does not say.
    """
    members = sorted(archive.infolist(), key=lambda member: member.header_offset)
    ends = [*(member.header_offset for member in members[1:]), archive.start_dir]
    spans: list[tuple[int, int]] = []
    for member, end in zip(members, ends, strict=True):
        if member.is_dir() or wanted(member.filename) is None:
            continue
        first = member.header_offset
        if spans and first - spans[-1][1] <= _GAP:
            first = spans.pop()[0]
        spans.append((first, end - 1))
    return spans


def _read_local(path: Path, wanted: Callable[[str], str | None], folder: Path) -> Fetched:
    try:
        with zipfile.ZipFile(path) as archive:
            _extract(archive, wanted, folder)
    except (OSError, zipfile.BadZipFile) as err:
        raise MissingRequirementError(
            f"{path.name} cannot be read: {err}",
            where=str(path.parent),
            fix="Replace the file, or take its folder out of pip's find-links.",
        ) from err
    return Fetched(transferred=0, how="local wheel")


def _extract(archive: zipfile.ZipFile, wanted: Callable[[str], str | None], folder: Path) -> None:
    for member in archive.infolist():
        name = None if member.is_dir() else wanted(member.filename)
        if name is None:
            continue
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise zipfile.BadZipFile(f"it holds a file with the path {member.filename}")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as packed, path.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, _BLOCK)


def _plain(err: BaseException) -> str:
    """Return the reason at the bottom of nested network errors; the outer ones repeat it with addresses of objects."""
    reason: object = err
    with suppress(AttributeError, IndexError):
        while isinstance(reason, Exception) and isinstance(reason.args[0], Exception):
            reason = getattr(reason.args[0], "reason", reason.args[0])
    return str(reason).partition(": ")[2] if "object at 0x" in str(reason) else str(reason)
