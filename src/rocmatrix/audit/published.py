"""Audit of a kernel on the Hub, whoever published it: its variants are downloaded, read and compared, never run.

The Hub is spoken to by its own client, which finds token and endpoint by its own means (``HF_TOKEN``, ``HF_ENDPOINT``).
Everything is taken from one commit, so that nothing changes in between. What a repository lists is not trusted: names
that would leave the folder are refused, and how much may be downloaded is bounded before it begins.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rocmatrix.audit.kernel_audit import BUILD_FOLDER, AuditSet
from rocmatrix.audit.path import PathAudit, audit_path
from rocmatrix.audit.published_refusals import TRY_AGAIN, refusals
from rocmatrix.audit.signature import SignatureCheck
from rocmatrix.audit.torch_reader import TorchReader
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Emit, Notice
from rocmatrix.plan.text import in_words
from rocmatrix.records import Outcome

if TYPE_CHECKING:
    from huggingface_hub import HfApi

REPO_TYPE = "kernel"
MAX_FILES = 10_000
"""Files of one commit that are downloaded at most."""
ANSWER_TIMEOUT = 60.0
"""Seconds that the Hub has for an answer; the client itself would wait for ever."""

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_VERSION_BRANCH = re.compile(r"v([0-9]{1,9})")
_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class PublishedKernel:
    """What to verify: ``owner/name``, and a branch, a tag or a commit; ``None`` for the newest ``v<N>``."""

    repo: str
    revision: str | None


@dataclass(frozen=True, kw_only=True)
class PublishedAudit(AuditSet):
    """What ``rocmatrix verify`` prints with ``--json``.

    Attributes:
        repo: ``owner/name``.
        revision: branch, tag or commit that was asked for, or the newest ``v<N>``.
        commit: that it was.
        received: bytes of the files that were downloaded.
    """

    repo: str
    revision: str
    commit: str
    received: int


@dataclass(frozen=True, kw_only=True)
class _File:
    path: str
    size: int

    @property
    def variant(self) -> str:
        return self.path.split("/")[1]


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """The files of a commit that are to be audited."""

    repo: str
    revision: str
    commit: str
    files: tuple[_File, ...]

    @property
    def name(self) -> str:
        return f"{self.repo}@{self.revision}"

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def audited(self, audits: tuple[PathAudit, ...]) -> PublishedAudit:
        failed = any(audited.outcome is Outcome.FAILED for audited in audits)
        return PublishedAudit(
            path=self.name,
            outcome=Outcome.FAILED if failed else Outcome.PASSED,
            audits=audits,
            repo=self.repo,
            revision=self.revision,
            commit=self.commit,
            received=self.size,
        )


def parse_published(text: str) -> PublishedKernel:
    """Return what ``REPO[@REV]`` names.

    Raises:
        InputError: it names no repository.
    """
    repo, mark, revision = text.partition("@")
    if not _REPO.fullmatch(repo) or (mark and not (revision and revision.isprintable())):
        fix = "Write <owner>/<name>, or <owner>/<name>@ and a branch, a tag or a commit."
        raise InputError("this names no kernel on the Hub", where=text[:200], fix=fix)
    return PublishedKernel(repo=repo, revision=_branch(revision) or None)


def _branch(revision: str) -> str:
    """Return the branch of a version that is written as a number, as the client's ``version=1``; else the text."""
    return f"v{revision}" if _VERSION_BRANCH.fullmatch(f"v{revision}") else revision


def audit_published(
    kernel: PublishedKernel,
    *,
    only: Sequence[str] = (),
    max_bytes: int,
    emit: Emit,
    torch: TorchReader | None = None,
    signatures: SignatureCheck | None = None,
) -> PublishedAudit:
    """Download the variants of a published kernel and audit each.

    Args:
        kernel: which one.
        only: shell patterns over names of variants; empty means all.
        max_bytes: how much may be downloaded.
        emit: told what is downloaded.
        torch: asks the torches that per-torch binaries are meant for.
        signatures: verifies signature bundles; ``None`` if nobody can.

    Raises:
        InputError: there is no such repository or revision, it has no such variants, or they are larger than allowed.
        MissingRequirementError: the Hub cannot be reached, is out of order, or wants a permission that is not there.
    """
    api = _api()
    chosen = _chosen(api, kernel, only)
    _require_within(max_bytes, chosen)
    what = f"{len(chosen.files)} files, {chosen.size / 1e6:,.1f} MB of commit {chosen.commit[:12]}"
    emit(Notice(level="info", message=what, where=chosen.name))
    with tempfile.TemporaryDirectory(prefix="rocmatrix-verify-") as folder:
        with refusals(kernel.repo, kernel.revision):
            _download(api, kernel, chosen, Path(folder))
        audits = tuple(_audits(Path(folder), chosen, torch, signatures))
    return chosen.audited(audits)


def _chosen(api: HfApi, kernel: PublishedKernel, only: Sequence[str]) -> _Chosen:
    """Return the files of the revision that was named, or of the newest version."""
    with refusals(kernel.repo, kernel.revision):
        revision = kernel.revision or _newest(api, kernel)
        commit = _commit(api, kernel, revision)
        files = _listed(api, kernel, commit)
    selected = _selected(files, only, f"{kernel.repo}@{revision}")
    return _Chosen(repo=kernel.repo, revision=revision, commit=commit, files=tuple(selected))


def _require_within(max_bytes: int, chosen: _Chosen) -> None:
    if chosen.size > max_bytes:
        what = f"its files have {chosen.size / 1e6:,.1f} MB, and {max_bytes / 1e6:,.1f} MB may be downloaded"
        raise InputError(what, where=chosen.name, fix="Raise --max-mb, or choose variants with --only.")


def _audits(
    folder: Path, chosen: _Chosen, torch: TorchReader | None, signatures: SignatureCheck | None
) -> Iterator[PathAudit]:
    """Give the audit of each downloaded variant, under the name that it has on the Hub."""
    for variant in sorted({file.variant for file in chosen.files}):
        place = folder / BUILD_FOLDER / variant
        audited = audit_path(place, torch=torch, published=True, signatures=signatures)
        shown = f"{chosen.name}/{BUILD_FOLDER}/{variant}"
        yield replace(audited, path=shown, prefix=shown)


def _api() -> HfApi:
    from huggingface_hub import HfApi, get_session  # noqa: PLC0415 - heavy, and only this needs it
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415 - as above

    disable_progress_bars()
    get_session().timeout = ANSWER_TIMEOUT
    return HfApi()


def _newest(api: HfApi, kernel: PublishedKernel) -> str:
    """Return the branch of the highest version, as the client counts them."""
    refs = api.list_repo_refs(kernel.repo, repo_type=REPO_TYPE)
    numbers = [int(found[1]) for branch in refs.branches if (found := _VERSION_BRANCH.fullmatch(branch.name))]
    if not numbers:
        fix = "Name a branch, a tag or a commit: <owner>/<name>@main."
        raise InputError("it has no branch v<N>, where clients look for a version", where=kernel.repo, fix=fix)
    return f"v{max(numbers)}"


def _commit(api: HfApi, kernel: PublishedKernel, revision: str) -> str:
    sha = api.repo_info(kernel.repo, revision=revision, repo_type=REPO_TYPE, timeout=ANSWER_TIMEOUT).sha
    if sha is None or not _HEX.fullmatch(sha):
        raise MissingRequirementError(f"the Hub names no commit for {revision}", where=kernel.repo, fix=TRY_AGAIN)
    return sha


def _listed(api: HfApi, kernel: PublishedKernel, commit: str) -> list[_File]:
    from huggingface_hub.errors import EntryNotFoundError  # noqa: PLC0415 - as above
    from huggingface_hub.hf_api import RepoFile  # noqa: PLC0415 - as above

    files: list[_File] = []
    try:
        for entry in api.list_repo_tree(
            kernel.repo, BUILD_FOLDER, recursive=True, revision=commit, repo_type=REPO_TYPE
        ):
            if isinstance(entry, RepoFile):
                files.append(_file(entry.path, entry.size, kernel))
            if len(files) > MAX_FILES:
                what = f"it has more than {MAX_FILES} files below {BUILD_FOLDER}/"
                raise InputError(what, where=kernel.repo, fix="This is no kernel that a client could load.")
    except EntryNotFoundError:
        files = []
    return [file for file in files if file.path.count("/") > 1]


def _file(path: str, size: int, kernel: PublishedKernel) -> _File:
    parts = PurePosixPath(path).parts
    safe = path.isprintable() and "\\" not in path and ".." not in parts and path == "/".join(parts)
    if not safe or parts[0] != BUILD_FOLDER or size < 0:
        raise InputError(f"it lists a file with the path {path[:100]!r}", where=kernel.repo, fix="Do not use it.")
    return _File(path=path, size=size)


def _selected(files: list[_File], only: Sequence[str], name: str) -> list[_File]:
    variants = sorted({file.variant for file in files})
    if not variants:
        raise InputError(f"it has no variants ({BUILD_FOLDER}/<variant>/...)", where=name, fix="Name another revision.")
    for pattern in only:
        if not any(fnmatchcase(variant, pattern) for variant in variants):
            fix = f"It has {in_words(variants)}."
            raise InputError(f"no variant matches {pattern[:100]!r}", where=name, fix=fix)
    return [file for file in files if not only or any(fnmatchcase(file.variant, pattern) for pattern in only)]


def _download(api: HfApi, kernel: PublishedKernel, chosen: _Chosen, folder: Path) -> None:
    for file in chosen.files:
        got = api.hf_hub_download(kernel.repo, file.path, repo_type=REPO_TYPE, revision=chosen.commit, local_dir=folder)
        size = Path(str(got)).stat().st_size
        if size != file.size:
            what = f"{file.path} came with {size} bytes instead of {file.size}"
            raise MissingRequirementError(what, where=kernel.repo, fix=TRY_AGAIN)
