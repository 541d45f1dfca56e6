"""What git and git-lfs say when they fail, and what that means for a release. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_STATUS = re.compile(
    r"""(?: returned\ error: | HTTP | HTTP: | status\ code | \(HTTP )\s*:?\s* (?P<status>[1-5]\d\d)\b""", re.VERBOSE
)
"""git: ``The requested URL returned error: 503``; ``RPC failed; HTTP 500 curl 22``. git-lfs: ``from HTTP 403``."""
_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
_REFUSED_STATUS = frozenset({401, 403})
_MOVED = (
    "(fetch first)",
    "(non-fast-forward)",
    "(stale info)",
    "(already exists)",
    "failed to update ref",
    "cannot lock ref",
    "reference already exists",
    "remote ref does not exist",
    "unable to delete",
)
"""A reference is not where it was expected (git 2.39, builtin/push.c and refs/files-backend.c)."""
_ABSENT = ("Repository not found", "repository not found", "' not found", "does not appear to be a git repository")
_UNAUTHORIZED = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "Authorization error",
    "Authentication required",
)
_TRANSIENT = (
    "Timeout: the command",
    "killed because it timed out",
    "Could not resolve host",
    "Failed to connect",
    "Couldn't connect",
    "Connection re",  # reset, refused
    "Connection timed out",
    "Operation timed out",
    "Operation too slow",
    "Empty reply from server",
    "transfer closed",
    "Recv failure",
    "Send failure",
    "the remote end hung up",
    "early EOF",
    "RPC failed",
    "unexpected EOF",
    "EOF",
    "connection refused",
    "connection reset",
    "broken pipe",
    "i/o timeout",
    "no such host",
    "invalid server response",
    "bad line length",
    "invalid index-pack output",
    "unexpected disconnect",
    "expected flush",
    "protocol error",
    "Fatal error:",  # git-lfs 3.3: what a server says with a status from 500 on
    "Unable to parse HTTP response",
    "expected OID",
    "LFS: ",
)
_DISK = ("No space left on device", "File too large", "Disk quota exceeded")
_NOISE = (
    "hint:",
    "Errors logged to",
    "Use `git lfs logs last`",
    "To ",
    "error: failed to push some refs",
    "Everything up-to-date",
    "warning:",
    "Locking support",
)
_FRAME = re.compile(r"^\s*(?:stderr|stdout): '|'\s*$", re.MULTILINE)
"""What GitPython 3.2.1 puts around the words of git (``CommandError``)."""
_MANGLED = re.compile(r"&\{%!!.*?\}s\(MISSING\)")
"""How git-lfs 3.3 prints an address with some errors of servers."""
_LONGEST = 300


class Failure(StrEnum):
    """What kind of failure it was."""

    TRANSIENT = "transient"
    MOVED = "moved"
    ABSENT = "absent"
    UNAUTHORIZED = "unauthorized"
    DISK = "disk"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a failed command said.

    Attributes:
        failure: its kind.
        sentence: the lines that tell why, in one.
    """

    failure: Failure
    sentence: str


def read_failure(said: str) -> Reading:
    """Return what a failed git or git-lfs meant, from what it wrote to standard error in English."""
    plain = _MANGLED.sub("of the server", _FRAME.sub("", said))
    return Reading(failure=_kind(plain), sentence=_sentence(plain))


def _kind(said: str) -> Failure:
    statuses = {int(match["status"]) for match in _STATUS.finditer(said)}
    for failure, found in (
        (Failure.DISK, _has(said, _DISK) and "remote:" not in said),
        (Failure.UNAUTHORIZED, bool(statuses & _REFUSED_STATUS) or _has(said, _UNAUTHORIZED)),
        (Failure.ABSENT, statuses == {404} or _has(said, _ABSENT)),
        (Failure.MOVED, _has(said, _MOVED)),
        (Failure.TRANSIENT, bool(statuses & _TRANSIENT_STATUS)),
        (Failure.OTHER, bool(statuses)),
        (Failure.TRANSIENT, _has(said, _TRANSIENT)),
    ):
        if found:
            return failure
    return Failure.OTHER


def _has(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)


def _sentence(said: str) -> str:
    lines = [" ".join(line.split()) for line in said.splitlines()]
    telling = [line for line in lines if line and not line.startswith(_NOISE)]
    return "; ".join(dict.fromkeys(telling))[:_LONGEST] or "it did not say why"
