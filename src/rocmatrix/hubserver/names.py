"""Names from requests: checked before they come near a folder or a git reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from dulwich.refs import Ref, check_ref_format

from rocmatrix import atomic
from rocmatrix.hubserver.refusals import RefusalError, no_repository

_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
"""One part of a repository's name: at most 96 characters (huggingface_hub 2.4.0, ``utils/_validators.py``)."""
_LONGEST_PATH, _LONGEST_COMPONENT = 1024, 255
_LONGEST_REFERENCE = 200
"""Bytes of a part of a reference's name: it is a file's name, and its lock's is longer."""
_COMMIT_ID = re.compile(r"[0-9a-fA-F]{40}")
_OID = re.compile(r"[0-9a-f]{64}")


class RepoType(StrEnum):
    """What kind of repository; the value is its segment in API addresses."""

    MODEL = "models"
    DATASET = "datasets"
    KERNEL = "kernels"

    @property
    def prefix(self) -> str:
        """What stands before the name in addresses that are not of the API; models have none."""
        return "" if self is RepoType.MODEL else f"{self.value}/"

    @staticmethod
    def named(singular: str | None) -> RepoType:
        """Return the type that ``POST /api/repos/create`` means.

        Raises:
            RefusalError: there is no such type here.
        """
        found = {kind.value.removesuffix("s"): kind for kind in RepoType}.get(singular or "model")
        if found is None:
            raise RefusalError(400, f"no repository type {singular!r} here; there are model, dataset and kernel")
        return found


@dataclass(frozen=True, kw_only=True)
class RepoName:
    """A repository's type and name, both checked."""

    type: RepoType
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def address(self) -> str:
        """The path in addresses that are not of the API, without a leading slash."""
        return f"{self.type.prefix}{self}"


def is_name(part: str) -> bool:
    """Whether a user, an organisation or a repository can have this name."""
    reserved = any(mark in part for mark in ("..", "--", atomic.PARTIAL, atomic.ASIDE))  # the last two are swept away
    return bool(_PART.fullmatch(part)) and not reserved and not part.endswith(".git")


def repo_name(kind: RepoType, namespace: str, name: str) -> RepoName:
    """Return a checked name.

    Raises:
        RefusalError: it is none that a repository can have, so there is no such repository.
    """
    if not is_name(namespace) or not is_name(name):
        raise no_repository(f"{namespace}/{name}"[:200])
    return RepoName(type=kind, namespace=namespace, name=name)


def file_path(path: str) -> str:
    """Return a checked path of a file in a repository.

    Raises:
        RefusalError: with the reason.
    """
    parts = path.split("/")
    reason = None
    if not path or len(path.encode("utf-8", "surrogatepass")) > _LONGEST_PATH:
        reason = f"is empty or longer than {_LONGEST_PATH} bytes"
    elif any(not part or part in {".", ".."} for part in parts):
        reason = "has an empty, '.' or '..' component"
    elif any(part.rstrip(" .").lower() in {".git", "git~1"} for part in parts):
        reason = "names git's own folder"
    elif any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST_COMPONENT for part in parts):
        reason = f"has a component longer than {_LONGEST_COMPONENT} bytes"
    elif not path.isprintable() or "\\" in path:
        reason = "has a backslash or a character that does not print"
    if reason:
        raise RefusalError(400, f"the path {path[:120]!r} {reason}")
    return path


def reference(folder: str, name: str) -> Ref:
    """Return ``refs/<folder>/<name>``, checked as git does.

    Raises:
        RefusalError: git takes no such name.
    """
    full = f"refs/{folder}/{name}"
    if name.startswith("-") or _COMMIT_ID.fullmatch(name) or not is_reference(full):
        raise RefusalError(400, f"{name[:120]!r} is no name for a branch or a tag")
    return Ref(full.encode())


def is_reference(full: str) -> bool:
    """Whether git takes a whole name as a reference's, and a file system as a file's."""
    name = full.encode("utf-8", "surrogatepass")
    short = len(name) <= _LONGEST_PATH and all(len(part) <= _LONGEST_REFERENCE for part in name.split(b"/"))
    return short and full.isprintable() and check_ref_format(Ref(name))


def object_id(oid: str) -> str:
    """Return a checked SHA-256 in hexadecimal.

    Raises:
        RefusalError: it is none.
    """
    if not isinstance(oid, str) or not _OID.fullmatch(oid):
        raise RefusalError(422, "an LFS object is named by 64 hexadecimal digits, its SHA-256")
    return oid
