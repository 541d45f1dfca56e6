"""How the output folder differs from an earlier release: users gained and lost, and what changed in the binaries."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rocmatrix.audit.difference import AuditDifference, difference
from rocmatrix.audit.kernel_audit import AuditSet, audit_anything
from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.plan.text import quote
from rocmatrix.release.resolver import require_client
from rocmatrix.release.serving import Pair, served
from rocmatrix.release.source_tag import previous_release, read_version
from rocmatrix.release.trees import BUILD, variants_of
from rocmatrix.release.view import View, glance
from rocmatrix.release.withdrawn import read_withdrawn
from rocmatrix.releasing.hubs import open_hub
from rocmatrix.releasing.publish import kernel_of
from rocmatrix.releasing.transport import Transport
from rocmatrix.store import Store

_MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What ``rocmatrix diff`` prints with ``--json``.

    Attributes:
        kernel: which one.
        repository: on the Hub.
        tag: the earlier release.
        gained: torch and ROCm of users that the output folder serves and the release does not.
        lost: the other way round.
        binaries: what differs in the variants.
    """

    kernel: str
    repository: str
    tag: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    binaries: AuditDifference


@dataclass(frozen=True, kw_only=True)
class NothingBefore:
    """What ``rocmatrix diff --before`` prints with ``--json`` for the first release of a major version.

    Attributes:
        kernel: which one.
        repository: on the Hub.
        before: the tag on the Hub before which there is no release.
        version: its major version.
    """

    kernel: str
    repository: str
    before: str
    version: int


def compare_with(
    tag: str, *, out: Path, hub: str | None, transport: Transport = Transport.API, before: bool = False
) -> Comparison | NothingBefore:
    """Return how the collected variants of a kernel differ from a release of it.

    Args:
        tag: of the sources, as a release was made from it.
        out: the output folder.
        hub: as in ``Options``.
        transport: as in ``Options``.
        before: compare with the last release before that one, of its major version, which is on the Hub: neither a
            pre-release nor a withdrawn one.

    Raises:
        RocmatrixError: nothing was collected, there is no such release, or the Hub does not answer.
    """
    require_client()
    store = Store(out)
    plan = store.read_plan()
    kernel = kernel_of(plan, tag)
    published_tag = tag.removeprefix(f"{kernel.name}-")
    opened = open_hub(hub, kernel.repo_id, transport)
    with opened as there, tempfile.TemporaryDirectory(prefix="rocmatrix-diff-") as folder:
        view = glance(there, kernel.repo_id)
        chosen = _last_before(published_tag, view) if before else published_tag
        if chosen is None:
            return NothingBefore(
                kernel=kernel.name, repository=kernel.repo_id, before=published_tag, version=kernel.version
            )
        names, earlier = _fetched(view, chosen, Path(folder))
    return _compared(store, kernel, chosen, names, earlier)


def _compared(store: Store, kernel: PlannedKernel, tag: str, names: tuple[str, ...], earlier: AuditSet) -> Comparison:
    """Return how the collected variants differ from those of a release, which was audited."""
    after = tuple(sorted(path.name for path in store.variants_folder(kernel.name).glob("*")))
    pairs = tuple(Pair(torch=row.torch, rocm=rocm) for row in load_compat().pairs for rocm in row.rocm)
    old, new = served(pairs, names), served(pairs, after)
    return Comparison(
        kernel=kernel.name,
        repository=kernel.repo_id,
        tag=tag,
        gained=_sorted(new - old),
        lost=_sorted(old - new),
        binaries=difference(audit_anything(store.kernel_folder(kernel.name)), earlier),
    )


def _fetched(view: View, tag: str, folder: Path) -> tuple[tuple[str, ...], AuditSet]:
    """Return the names of the variants of a release, and the audit of them in a folder that they are fetched into."""
    commit = _commit_of(tag, view)
    tree = view.tree(commit)
    view.download(commit, [path for path in tree if path.startswith(f"{BUILD}/")], folder)
    return variants_of(tree), replace(audit_anything(folder), path=f"{view.repository}@{tag}")


def _last_before(tag: str, view: View) -> str | None:
    """Return the release before one; ``None`` for the first.

    Raises:
        InputError: the tag is no version.
    """
    if read_version(tag) is None:
        raise InputError(f"{quote(tag)} is no release", where="TAG", fix="Write vX.Y.Z, as the tag that is released.")
    references = view.named_references()
    main = references.branches.get(_MAIN)
    withdrawn = {each.tag for each in read_withdrawn(view, main)} if main else set()
    return previous_release(references.tags, tag, withdrawn)


def _commit_of(tag: str, view: View) -> str:
    """Return the commit of a release.

    Raises:
        InputError: there is none of this tag.
    """
    tags = view.named_references().tags
    if tag not in tags:
        fix = f"Its releases are: {', '.join(sorted(tags)) or 'none'}."
        raise InputError(f"there is no release {quote(tag)}", where=view.repository, fix=fix)
    return tags[tag]


def _sorted(pairs: frozenset[Pair]) -> tuple[str, ...]:
    return tuple(sorted(map(str, pairs)))
