"""Names from requests: checked before they come near a folder or a git reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from dulwich.refs import Ref, check_ref_format

from rocmatrix.hubserver.refusals import RefusalError, no_repository

_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
"""One part of a repository's name: at most 96 characters (huggingface_hub 2.4.0, ``utils/_validators.py``)."""
_LONGEST_PATH, _LONGEST_COMPONENT = 1024, 255
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


def repo_name(kind: RepoType, namespace: str, name: str) -> RepoName:
    """Return a checked name.

    Raises:
        RefusalError: it is none that a repository can have, so there is no such repository.
    """
    for part in (namespace, name):
        if not _PART.fullmatch(part) or ".." in part or "--" in part or part.endswith(".git"):
            raise no_repository(f"{namespace}/{name}")
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
    if not name.isprintable() or name.startswith("-") or not check_ref_format(Ref(full.encode())):
        raise RefusalError(400, f"{name[:120]!r} is no name for a branch or a tag")
    return Ref(full.encode())


def object_id(oid: str) -> str:
    """Return a checked SHA-256 in hexadecimal.

    Raises:
        RefusalError: it is none.
    """
    if not isinstance(oid, str) or not _OID.fullmatch(oid):
        raise RefusalError(422, "an LFS object is named by 64 hexadecimal digits, its SHA-256")
    return oid
