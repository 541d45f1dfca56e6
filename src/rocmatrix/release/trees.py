"""What a revision of a repository holds, and how it differs from what is to be published. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.metadata import SIGNATURE_NAME

BUILD = "build"
ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, kw_only=True)
class HubFile:
    """A file of a revision, as the Hub lists it.

    Attributes:
        oid: git's object id of the blob: of the pointer file, where the content is in LFS.
        sha256: of the content, where it is in LFS.
        size: of the content, in bytes.
    """

    oid: str
    size: int
    sha256: str | None = None


Tree = Mapping[str, HubFile]
"""Path from the root -> file."""


@dataclass(frozen=True, kw_only=True)
class LocalFile:
    """A file that is to be published.

    Attributes:
        source: where its bytes are; ``content`` where they are made by us.
        oid: git's object id that its bytes have as a blob.
        sha256: of its bytes.
        size: in bytes.
    """

    oid: str
    sha256: str
    size: int
    source: Path | None = None
    content: bytes | None = None

    def read(self) -> bytes:
        """Return its bytes.

        Raises:
            OSError: it cannot be read.
        """
        return self.source.read_bytes() if self.source is not None else self.content or b""

    def matches(self, file: HubFile | None) -> bool:
        """Whether the Hub has these very bytes, in git or in LFS."""
        if file is None or file.size != self.size:
            return False
        return file.sha256 == self.sha256 if file.sha256 else file.oid == self.oid


def file_on_disk(path: Path) -> LocalFile:
    """Return a file to publish from the disk.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    blob, plain = hashlib.sha1(_blob_head(size)), hashlib.sha256()  # noqa: S324 - git's object ids are SHA-1
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            blob.update(piece)
            plain.update(piece)
    return LocalFile(source=path, oid=blob.hexdigest(), sha256=plain.hexdigest(), size=size)


def file_of(content: bytes) -> LocalFile:
    """Return a file to publish whose bytes are made by us."""
    blob = hashlib.sha1(_blob_head(len(content)) + content).hexdigest()  # noqa: S324 - as above
    return LocalFile(content=content, oid=blob, sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def _blob_head(size: int) -> bytes:
    return b"blob %d\0" % size


def variants_of(tree: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the folders in ``build/``, sorted."""
    parts = (path.split("/") for path in tree)
    return tuple(sorted({part[1] for part in parts if len(part) > 2 and part[0] == BUILD}))  # noqa: PLR2004 - folder, variant, file


def in_variant(path: str, variant: str) -> bool:
    """Whether a path lies in ``build/<variant>/``."""
    return path.startswith(f"{BUILD}/{variant}/")


def is_signature(path: str) -> bool:
    """Whether a path is the signature of a variant; signatures are no part of what makes two releases the same."""
    return path.startswith(f"{BUILD}/") and path.rpartition("/")[2] == SIGNATURE_NAME


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How a revision differs from what it should hold: paths, sorted.

    Attributes:
        missing: that it does not have.
        changed: that it has with other bytes.
        extra: that it has beyond.
    """

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return bool(self.missing or self.changed or self.extra)

    def __str__(self) -> str:
        """Return one sentence that names the first few paths of each kind."""
        parts = []
        for what, paths in (("lacks", self.missing), ("has other bytes in", self.changed), ("also has", self.extra)):
            if paths:
                shown = ", ".join(paths[:3])
                more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""  # noqa: PLR2004 - a line's worth
                parts.append(f"{what} {shown}{more}")
        return "; ".join(parts) or "no difference"


def compare(wanted: Mapping[str, LocalFile], found: Tree, *, inside: Iterable[str]) -> Difference:
    """Return how a revision differs from wanted files, signatures aside.

    Args:
        wanted: path -> file.
        found: the revision.
        inside: variants that must hold nothing beyond what is wanted.
    """
    ours = tuple(inside)
    paths = {path for path in wanted if not is_signature(path)}
    extra = (
        path
        for path in found
        if path not in wanted and not is_signature(path) and any(in_variant(path, variant) for variant in ours)
    )
    return Difference(
        missing=tuple(sorted(path for path in paths if path not in found)),
        changed=tuple(sorted(path for path in paths if path in found and not wanted[path].matches(found[path]))),
        extra=tuple(sorted(extra)),
    )


def changed_between(before: Tree, after: Tree, *, outside: Iterable[str]) -> tuple[str, ...]:
    """Return paths that differ between two revisions, but for those in these variants; signatures count.

    Args:
        before: one revision.
        after: the other.
        outside: variants that may differ.
    """
    allowed = tuple(outside)
    paths = sorted(before.keys() | after.keys())
    return tuple(
        path
        for path in paths
        if before.get(path) != after.get(path) and not any(in_variant(path, variant) for variant in allowed)
    )
