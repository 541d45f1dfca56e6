"""What the Hub answers when it refuses: a status, a code that clients turn into an exception, a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    """``X-Error-Code``, by which huggingface_hub 2.4.0 chooses an exception (``utils/_http.py``)."""

    REPO_NOT_FOUND = "RepoNotFound"
    REVISION_NOT_FOUND = "RevisionNotFound"
    ENTRY_NOT_FOUND = "EntryNotFound"


class RefusalError(Exception):
    """A request that is refused.

    Attributes:
        status: of the HTTP response.
        message: for people.
        code: for clients.
        headers: of the response.
        document: more keys of the JSON document.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: Code | None = None,
        headers: Mapping[str, str] | None = None,
        document: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what the response is made of."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.document = dict(document or {})


def please_log_in() -> RefusalError:
    """Ask for a credential, as git and git-lfs wait for before they show theirs."""
    return RefusalError(401, "Invalid username or password.", headers={"WWW-Authenticate": 'Basic realm="hub"'})


def no_repository(name: object) -> RefusalError:
    """Refuse a repository that does not exist, or that this caller must not know of."""
    return RefusalError(404, f"Repository not found: {name}", code=Code.REPO_NOT_FOUND)


def no_revision(revision: str) -> RefusalError:
    """Refuse a revision that does not exist."""
    return RefusalError(404, f"Invalid rev id: {revision!r}", code=Code.REVISION_NOT_FOUND)


def no_entry(path: str, commit: str) -> RefusalError:
    """Refuse a path that a revision does not have; clients cache that by the commit."""
    message = f"{path!r} does not exist in {commit}"
    return RefusalError(404, message, code=Code.ENTRY_NOT_FOUND, headers={"X-Repo-Commit": commit})
