"""LFS objects of one repository: files named by their SHA-256, there only when they are whole."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from rocmatrix.hubserver.refusals import RefusalError

_PIECE = 1 << 20


class LargeObjects:
    """The store below a repository's folder, laid out as git-lfs lays out its own: ``lfs/objects/ab/cd/<oid>``."""

    def __init__(self, repository: Path) -> None:
        """Take the repository's folder."""
        self._folder = repository / "lfs"

    def path(self, oid: str) -> Path:
        """Return where an object lies, or would."""
        return self._folder / "objects" / oid[:2] / oid[2:4] / oid

    def has(self, oid: str) -> bool:
        """Whether the object is here, whole."""
        return self.path(oid).is_file()

    def size(self, oid: str) -> int:
        """Return the size of an object, in bytes."""
        return self.path(oid).stat().st_size

    async def receive(self, oid: str, size: int, body: AsyncIterator[bytes]) -> None:
        """Take an object's bytes.

        Raises:
            RefusalError: they are not ``size`` bytes of that SHA-256.
        """
        partial = await self._spool(size, body)
        try:
            self._keep(partial, oid, size)
        finally:
            partial.unlink(missing_ok=True)

    async def receive_part(self, oid: str, number: int, size: int, body: AsyncIterator[bytes]) -> str:
        """Take a part of an object, numbered from 1; a part that comes again replaces the one before.

        Returns:
            the part's ETag.
        """
        partial = await self._spool(size, body)
        place = self._part(oid, number)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(place)
        return _etag(place)

    def complete(self, oid: str, size: int, etags: list[str]) -> None:
        """Make an object of its parts.

        Args:
            oid: its SHA-256.
            size: in bytes.
            etags: of the parts in their order, as the client was told.

        Raises:
            RefusalError: a part is missing or another one, or the whole is not that object.
        """
        if self.has(oid):
            return  # asked again after a lost answer
        places = [self._part(oid, number) for number in range(1, len(etags) + 1)]
        for place, etag in zip(places, etags, strict=True):
            if not place.is_file() or _etag(place) != etag.strip('"'):
                raise RefusalError(400, f"part {place.name} of {oid} is missing or not the one with the ETag {etag}")
        partial = self._partial()
        try:
            with partial.open("wb") as whole:
                for place in places:
                    with place.open("rb") as part:
                        shutil.copyfileobj(part, whole, _PIECE)
            self._keep(partial, oid, size)
        finally:
            partial.unlink(missing_ok=True)
        shutil.rmtree(places[0].parent if places else self._part(oid, 1).parent, ignore_errors=True)

    def _part(self, oid: str, number: int) -> Path:
        return self._folder / "parts" / oid / str(number)

    def _partial(self) -> Path:
        folder = self._folder / "partial"
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        os.close(descriptor)
        return Path(name)

    async def _spool(self, limit: int, body: AsyncIterator[bytes]) -> Path:
        """Write a body to a file of its own, never more than was announced."""
        partial, taken = self._partial(), 0
        try:
            with partial.open("wb") as stream:
                async for piece in body:
                    taken += len(piece)
                    if taken <= limit:
                        stream.write(piece)
                stream.flush()
                os.fsync(stream.fileno())
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        if taken > limit:
            partial.unlink()
            raise RefusalError(413, f"{taken} bytes came, and {limit} were announced")
        return partial

    def _keep(self, partial: Path, oid: str, size: int) -> None:
        with partial.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != oid or partial.stat().st_size != size:
            raise RefusalError(422, f"{partial.stat().st_size} bytes of SHA-256 {found} came for {oid} of {size} bytes")
        place = self.path(oid)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(place)


def _etag(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
