"""The stage ``release``: everything is looked at before anything is written, then the publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rocmatrix.digest import Digest
from rocmatrix.errors import ReleaseError, RocmatrixError
from rocmatrix.events import Emit, Notice
from rocmatrix.images.recipe import Recipe
from rocmatrix.plan.compat import Compat
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.release.card import make_card
from rocmatrix.release.card_facts import CardFacts
from rocmatrix.release.content import Content, read_content
from rocmatrix.release.gates import (
    Allowances,
    require_allowed,
    require_complete,
    require_current_recipes,
    require_publishable,
    require_unchanged,
)
from rocmatrix.release.hub import Hub
from rocmatrix.release.journal import Journal, JournalFile
from rocmatrix.release.persistence import Patience
from rocmatrix.release.publication import Publication, Released, Wanted
from rocmatrix.release.resolver import require_client
from rocmatrix.release.serving import Pair
from rocmatrix.release.signing import Signing, sign_wanted
from rocmatrix.release.source_tag import read_tag, require_built_commit
from rocmatrix.release.verification import Expectations
from rocmatrix.release.view import patient_view
from rocmatrix.store import Absent, Store

JOURNAL = "release.json"
_UNKNOWN_COMMIT = "unknown"
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What somebody asks to be released.

    Attributes:
        tag: of the sources.
        kernel: which one.
        manifest: its build.toml.
        project: its folder.
        plan: the plan of the output folder.
        compat: which torch and ROCm users may have.
        allowances: what the author lets pass.
        credential: where the credential came from, for the journal.
        images: recipes of the images that built the kernel's units.
        recipe_digests: by variant built in an image: the digest that its toolchain would record now.
    """

    tag: str
    kernel: PlannedKernel
    manifest: Manifest
    project: Path
    plan: Plan
    compat: Compat
    allowances: Allowances
    credential: str
    images: tuple[Recipe, ...] = ()
    recipe_digests: Mapping[str, Digest] = field(default_factory=dict)


Objection = Callable[[ReleaseError], None]
"""Takes what stands in the way of a release: raises it, or says it and lets a rehearsal go on."""


def refuse(objection: ReleaseError) -> None:
    """Refuse, as a release does.

    Raises:
        ReleaseError: always.
    """
    raise objection


def prepare(request: Request, store: Store, *, object_to: Objection = refuse) -> Wanted:
    """Look at everything that can be known without a Hub, and return what is to be released.

    Args:
        request: what is asked for.
        store: the output folder.
        object_to: takes what would stand in the way of a real release but not of a rehearsal.

    Raises:
        ReleaseError: something stands in the way.
        MissingRequirementError: the client's resolver or git is not there.
    """
    require_client()
    release = read_tag(request.tag, request.kernel, several=len(request.plan.kernels) > 1)
    coverage = store.read_coverage(request.kernel.name)
    if isinstance(coverage, Absent):
        raise ReleaseError(
            f"nothing was collected: {coverage.reason}", where=request.kernel.name, fix="Run `rocmatrix run` first."
        )
    content = read_content(request.kernel, store=store, project=request.project)
    require_complete(request.plan, coverage, content)  # users of what is missing get nothing: no rehearsal could pass
    _go_through_gates(request, content, object_to)
    commit = _ask(lambda: require_built_commit(release, content, request.project), object_to) or _UNKNOWN_COMMIT
    facts = CardFacts(
        manifest=request.manifest,
        plan=request.plan,
        coverage=coverage,
        content=content,
        release=release,
        commit=commit,
    )
    return Wanted(
        release=release,
        expectations=_expectations(request, content),
        message=f"{request.kernel.name} {release.tag}\n\nFrom {release.source} at {commit}.",
        card=make_card(facts, request.project),
        source_commit=commit,
    )


def _go_through_gates(request: Request, content: Content, object_to: Objection) -> None:
    for gate in (
        lambda: require_unchanged(content),
        lambda: require_allowed(content.metadata, request.allowances),
        lambda: require_publishable(request.images),
        lambda: require_current_recipes(content.metadata, request.recipe_digests),
    ):
        _ask(gate, object_to)


def _expectations(request: Request, content: Content) -> Expectations:
    pairs = tuple(Pair(torch=row.torch, rocm=rocm) for row in request.compat.pairs for rocm in row.rocm)
    return Expectations(content=content, plan=request.plan, pairs=pairs, drop=request.allowances.drop)


def _ask(gate: Callable[[], T], object_to: Objection) -> T | None:
    try:
        return gate()
    except ReleaseError as err:
        object_to(err)
        return None


def publish(
    wanted: Wanted,
    hub: Hub,
    *,
    store: Store,
    emit: Emit,
    credential: str,
    patience: Patience | None = None,
    keep_journal: bool = True,
    signing: Signing | None = None,
) -> Released:
    """Release onto a Hub.

    Args:
        wanted: what.
        hub: where.
        store: the output folder, for ``release.json``.
        emit: takes a sentence for each step.
        credential: where the credential came from.
        patience: how long to go on when the Hub does not answer.
        keep_journal: whether ``release.json`` is written: a rehearsal is no release.
        signing: who signs, and what is done with signatures that are there; ``None`` leaves them alone.

    Raises:
        ReleaseError: it was refused or failed; ``release.json`` says at which step.
    """
    kernel, tell = wanted.expectations.content.kernel, _teller(wanted, emit)
    path = store.kernel_folder(kernel.name) / JOURNAL if keep_journal else None
    journal = JournalFile(path, _journal(wanted, hub, credential))
    view = patient_view(hub, kernel.repo_id, tell=tell, patience=patience)
    try:
        signed = sign_wanted(wanted, view, signing, tell) if signing else wanted
        released = Publication(signed, view, journal, tell).run()
    except RocmatrixError as err:
        journal.end("stopped", err.what)
        raise
    journal.end("already released" if released.already else "released")
    return released


def _teller(wanted: Wanted, emit: Emit) -> Callable[[str], None]:
    """Return what says a sentence of this kernel's release."""
    kernel = wanted.expectations.content.kernel.name
    return lambda message: emit(Notice(level="info", message=message, where=kernel))


def _journal(wanted: Wanted, hub: Hub, credential: str) -> Journal:
    """Return the journal of a release that begins."""
    kernel = wanted.expectations.content.kernel
    return Journal(
        kernel=kernel.name,
        hub=hub.name,
        repository=kernel.repo_id,
        tag=wanted.release.tag,
        source_commit=wanted.source_commit,
        credential=credential,
    )
