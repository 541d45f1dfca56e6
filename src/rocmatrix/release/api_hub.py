"""The Hub by its API: huggingface_hub, with the time limits that it does not have, and nothing repeated."""

from __future__ import annotations

import copy
import io
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

import httpx2
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    get_session,
    hf_hub_url,
    set_client_factory,
    snapshot_download,
)
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # in no __all__, and documented
from huggingface_hub.utils.tqdm import disable_progress_bars

from rocmatrix.errors import MissingRequirementError, ReleaseError
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import Change, MovedError, References, TransientError
from rocmatrix.release.request_limits import RequestLimits, make_client
from rocmatrix.release.trees import HubFile, LocalFile, Tree

_KERNEL = "kernel"
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_CONFLICTS = frozenset({409, 412})
"""Somebody else was first, where something was to be changed; a question has no such answer."""
_QUESTIONS = frozenset({"GET", "HEAD"})
_AT_ONCE = 8
"""Small files that are read at a time; huggingface_hub 2.4.0 downloads as many (``snapshot_download``)."""


def limit_requests(limits: RequestLimits | None = None) -> None:
    """Give every request of huggingface_hub in this process time limits, and no progress bars.

    Raises:
        MissingRequirementError: Xet is on. With it huggingface_hub uploads in several commits, and does not fall back.
    """
    if not constants.HF_HUB_DISABLE_XET:
        raise MissingRequirementError(
            "HF_HUB_DISABLE_XET is not set, and uploads by Xet are several commits",
            fix="Set HF_HUB_DISABLE_XET=1 before rocmatrix starts; its command line does.",
        )
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    set_client_factory(lambda: make_client(limits or RequestLimits()))


class ApiHub:
    """Implements ``Hub`` by the Hub's own API."""

    def __init__(self, endpoint: str, credential: Credential) -> None:
        """Keep address and credential; nothing is asked yet."""
        self._endpoint = endpoint.rstrip("/")
        self._credential = credential
        self._known: tuple[Change, list[CommitOperationAdd]] | None = None
        self._api = HfApi(endpoint=self._endpoint, token=credential.token or False)

    @property
    def name(self) -> str:
        """Its address."""
        return self._endpoint

    def references(self, repository: str) -> References | None:
        """Return branches and tags; ``None`` if there is no such repository."""
        with self._translated(repository):
            try:
                refs = self._api.list_repo_refs(repository, repo_type=_KERNEL)
            except RepositoryNotFoundError:
                return None
        return References(
            branches={each.name: each.target_commit for each in refs.branches},
            tags={each.name: each.target_commit for each in refs.tags},
        )

    def create_repository(self, repository: str) -> None:
        """Make an empty kernel repository."""
        with self._translated(repository):
            self._api.create_repo(repository, repo_type=_KERNEL)

    def create_branch(self, repository: str, branch: str, commit: str) -> None:
        """Let a new branch begin at a commit."""
        with self._translated(repository), _vanishing():
            self._api.create_branch(repository, branch=branch, revision=commit, repo_type=_KERNEL)

    def delete_branch(self, repository: str, branch: str) -> None:
        """Delete a branch."""
        with self._translated(repository), _vanishing():
            self._api.delete_branch(repository, branch=branch, repo_type=_KERNEL)

    def create_tag(self, repository: str, tag: str, commit: str, message: str) -> None:
        """Tag a commit."""
        with self._translated(repository):
            self._api.create_tag(repository, tag=tag, tag_message=message, revision=commit, repo_type=_KERNEL)

    def tree(self, repository: str, commit: str) -> Tree:
        """Return all files of a commit."""
        with self._translated(repository):
            rows = self._api.list_repo_tree(repository, recursive=True, revision=commit, repo_type=_KERNEL)
            return {row.path: _hub_file(row) for row in rows if isinstance(row, RepoFile)}

    def read(self, repository: str, commit: str, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of small files that a commit has, several requests at a time; nothing is cached."""
        token = self._credential.token
        headers = {"Authorization": f"Bearer {token}"} if token else {}

        def one(path: str) -> bytes:
            address = hf_hub_url(repository, path, repo_type=_KERNEL, revision=commit, endpoint=self._endpoint)
            answer = get_session().get(address, headers=headers)
            hf_raise_for_status(answer)
            return bytes(answer.content)

        wanted = tuple(paths)
        with self._translated(repository), ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(wanted, pool.map(one, wanted), strict=True))

    def commit(self, repository: str, branch: str, change: Change, *, parent: str) -> str:
        """Commit to a branch whose head is ``parent``, and return the new head.

        How each file is uploaded is asked with an empty list of ignored names, so that no ``.gitignore`` hides a file
        that was promised.
        """
        additions = self._operations(change)
        deletions = [CommitOperationDelete(path, is_folder=False) for path in change.deletions]
        summary, _, description = change.message.partition("\n\n")
        with self._translated(repository), _vanishing():
            self._api.preupload_lfs_files(
                repository, additions, revision=branch, repo_type=_KERNEL, free_memory=False, gitignore_content=""
            )
            done = self._api.create_commit(
                repository,
                [*map(copy.copy, additions), *deletions],
                commit_message=summary,
                commit_description=description,
                revision=branch,
                repo_type=_KERNEL,
                parent_commit=parent,
            )
        return done.oid

    def _operations(self, change: Change) -> list[CommitOperationAdd]:
        """Return the additions of a change; made once, so that files are hashed and objects announced once for it.

        huggingface_hub 2.4.0 notes in them what was uploaded, and takes none that was committed: it gets copies.
        """
        if self._known is None or self._known[0] is not change:
            made = [CommitOperationAdd(path, _stream_or_path(file)) for path, file in change.additions.items()]
            self._known = (change, made)
        return self._known[1]

    def download(self, repository: str, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Fetch files of a commit anew, past all caches, to the same paths below a folder."""
        with tempfile.TemporaryDirectory(prefix="rocmatrix-cache-") as cache, self._translated(repository):
            snapshot = snapshot_download(
                repository,
                repo_type=_KERNEL,
                revision=commit,
                allow_patterns=[_literal(path) for path in paths],
                cache_dir=cache,
                endpoint=self._endpoint,
                token=self._credential.token or False,
            )
            shutil.copytree(snapshot, folder, dirs_exist_ok=True)

    @contextmanager
    def _translated(self, repository: str) -> Iterator[None]:
        """Turn what huggingface_hub raises into what a release understands; no token is in any of it."""
        try:
            yield
        except HfHubHTTPError as err:
            raise self._refusal(err, repository) from err
        except (httpx2.TransportError, LocalEntryNotFoundError) as err:
            raise TransientError(self._credential.masked(f"no answer from {self._endpoint}: {_cause(err)}")) from err
        except httpx2.InvalidURL as err:
            raise ReleaseError(f"{self._endpoint} is no address of a Hub: {err}", where="--hub") from err
        except HFValidationError as err:
            raise ReleaseError(f"no repository can be named so: {err}", where=repository) from err
        except (JSONDecodeError, KeyError, RecursionError) as err:
            raise ReleaseError(
                f"{self._endpoint} does not answer as a Hub does",
                fix="Look at the address: a proxy, a login page or another service answers there.",
            ) from err
        except (RuntimeError, ValueError) as err:  # an upload or a batch of LFS objects: the cause says what it was
            cause = err.__cause__
            if isinstance(cause, HfHubHTTPError):
                raise self._refusal(cause, repository) from err
            if isinstance(cause, httpx2.TransportError) or "LFS" in str(err):
                raise TransientError(self._credential.masked(str(cause or err))) from err
            raise

    def _refusal(self, err: HfHubHTTPError, repository: str) -> Exception:
        status = err.response.status_code
        said = self._credential.masked(_server_message(err))
        if status in _TRANSIENT or (status in _CONFLICTS and err.response.request.method in _QUESTIONS):
            return TransientError(f"{self._endpoint} answered {status}: {said}", wait=_retry_after(err))
        if status in _CONFLICTS:
            return MovedError(said)
        if status in {_UNAUTHORIZED, _FORBIDDEN}:
            return ReleaseError(
                f"{self._endpoint} does not allow it ({status}): {said}",
                where=repository,
                fix=f"The credential was {self._credential.source}. It needs the role write for "
                f"{repository.partition('/')[0]}; a new kernel repository also needs approval.",
            )
        return ReleaseError(f"{self._endpoint} refused with {status}: {said}", where=repository)


@contextmanager
def _vanishing() -> Iterator[None]:
    """A branch that was there a moment ago and is gone was removed by somebody else."""
    try:
        yield
    except RevisionNotFoundError as err:
        raise MovedError(_server_message(err)) from err


def _stream_or_path(file: LocalFile) -> str | io.BytesIO:
    return str(file.source) if file.source is not None else io.BytesIO(file.content or b"")


def _hub_file(row: RepoFile) -> HubFile:
    return HubFile(oid=row.blob_id, size=row.size, sha256=row.lfs.sha256 if row.lfs else None)


def _literal(path: str) -> str:
    """Return a pattern that matches one path: huggingface_hub takes shell patterns."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def _server_message(err: HfHubHTTPError) -> str:
    return " ".join((err.server_message or str(err).partition("\n")[0]).split())


def _cause(err: BaseException) -> str:
    while err.__cause__ is not None:
        err = err.__cause__
    return str(err) or type(err).__name__


def _retry_after(err: HfHubHTTPError) -> float | None:
    """Return the seconds of ``Retry-After``; a date is not understood, and the usual wait applies."""
    value = err.response.headers.get("Retry-After", "")
    return float(value) if value.isdigit() else None
