"""Archives for and from a container: what is sent is the same for the same files, what comes back is hostile data.

A command in a container may leave anything where results are looked for: links out of the folder, devices, names with
``..``, a sparse file of a petabyte. Only regular files and folders below the one that was asked for are taken, up to a
limit, and they are written with the rights of an ordinary file.
"""

from __future__ import annotations

import errno
import io
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from rocmatrix.engine.paths import Place
from rocmatrix.errors import BuildError, InputError

SENT_TIME = 315532800
"""Seconds; the time stamp of everything that is sent: 1980, as SOURCE_DATE_EPOCH, so that results are always newer."""

MOST_FILES = 100_000
"""Files and folders that one result may consist of."""

_SPOOLED = 16 * 1024 * 1024
_BLOCK = 1024 * 1024


def pack(places: Sequence[Place], *, owner: int) -> IO[bytes]:
    """Return a tar file of these places under their names, at its beginning; the caller closes it.

    Owners, times and the order of files are fixed, so that the same files make the same bytes.

    Args:
        places: what is packed; a file, or a folder with all below it. Their parent folders are packed too.
        owner: user and group id of everything.

    Raises:
        InputError: there is something else than a file or folder among them, or it cannot be read.
    """
    made: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115 - the caller closes it
    try:
        _write(made, places, owner)
    except BaseException:
        made.close()
        raise
    made.seek(0)
    return made


def unpack(chunks: Iterator[bytes], folder: Path, *, most_bytes: int) -> None:
    """Replace a folder by what an archive from a container holds below its first name.

    Args:
        chunks: the archive as ``get_archive`` gives it: everything lies below the name of what was asked for.
        folder: is there afterwards with exactly these files, or unchanged if the archive is refused.
        most_bytes: in all files together.

    Raises:
        BuildError: the archive holds what a build has no business to leave, or too much.
    """
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with closing(_Chunks(chunks)) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            _extract(archive, new, most_bytes)
        new.chmod(0o755)
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        new.rename(folder)
    except tarfile.TarError as err:
        raise BuildError(f"what the container gave as {folder.name} is not an archive: {err}") from err
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _write(made: IO[bytes], places: Sequence[Place], owner: int) -> None:
    done: set[str] = set()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for place in places:
            for parent in reversed(PurePosixPath(place.name).parents[:-1]):
                if str(parent) not in done:
                    archive.addfile(_header(str(parent), owner, mode=0o755, folder=True))
                    done.add(str(parent))
            for name, path in _below(place):
                _add(archive, name, path, owner)


def _below(place: Place) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of a place and of all of it that is sent, in a fixed order."""
    yield place.name, place.host
    if place.sent and place.host.is_dir():
        for path in sorted(place.host.rglob("*")):
            yield f"{place.name}/{path.relative_to(place.host).as_posix()}", path


def _add(archive: tarfile.TarFile, name: str, path: Path, owner: int) -> None:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            archive.addfile(_header(name, owner, mode=0o755, folder=True))
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
            header = _header(name, owner, mode=0o755 if status.st_mode & stat.S_IXUSR else 0o644)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
        else:
            raise InputError("this is neither a file nor a folder", where=str(path), fix="Take it out of the build.")
    except OSError as err:
        raise InputError(
            f"this cannot be read for the build: {err.strerror}", where=str(path), fix="See to its rights and links."
        ) from err


def _header(name: str, owner: int, *, mode: int, folder: bool = False) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type = tarfile.DIRTYPE if folder else tarfile.REGTYPE
    header.mode, header.uid, header.gid, header.mtime = mode, owner, owner, SENT_TIME
    return header


def _extract(archive: tarfile.TarFile, folder: Path, most_bytes: int) -> None:
    total = files = 0
    for member in archive:
        parts = member.name.split("/")[1:]
        files, total = files + 1, total + member.size
        shown = "/".join(parts) or member.name
        if not (member.isreg() or member.isdir()):
            raise BuildError(f"the build left {shown!r}, which is neither a file nor a folder")
        if member.name.startswith("/") or any(part in {"", ".", ".."} for part in parts):
            raise BuildError(f"the build left the name {member.name!r}, which leads out of its folder")
        if total > most_bytes or files > MOST_FILES:
            raise BuildError(f"the build left more than {most_bytes} bytes or {MOST_FILES} files")
        try:
            _write_member(archive, member, folder.joinpath(*parts))
        except (FileExistsError, FileNotFoundError, NotADirectoryError) as err:
            raise BuildError(f"the build left {shown!r} twice or in a folder that is none") from err
        except OSError as err:
            if err.errno != errno.ENAMETOOLONG:
                raise
            raise BuildError(f"the build left a path of {len(shown)} characters, too long here: {shown[:80]}…") from err


def _write_member(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(exist_ok=True)
        return
    source = archive.extractfile(member)
    assert source is not None  # noqa: S101 - a regular file
    with path.open("xb") as target:
        shutil.copyfileobj(source, target, _BLOCK)
    path.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)


class _Chunks(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override] # any writable buffer
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        closer = getattr(self._chunks, "close", None)
        if closer:
            closer()
        super().close()
