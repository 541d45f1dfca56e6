"""Why a user gets the variant that they get, or none: the client's own resolver on what is published."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rocmatrix.errors import InputError
from rocmatrix.metadata import METADATA_NAME
from rocmatrix.release.resolver import Choice, Machine, choose, require_client
from rocmatrix.release.source_tag import read_version
from rocmatrix.release.trees import BUILD, variants_of
from rocmatrix.release.view import View


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the client does with one published variant: loads it, would take it next, or rejects it, and why."""

    variant: str
    loaded: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a user of one machine gets.

    Attributes:
        repository: which kernel.
        revision: branch, tag or commit that was looked at.
        commit: that it is.
        torch: torch minor of the machine.
        rocm: its ROCm minor.
        arch: its gfx arch; ``None`` if it was not said.
        variant: the variant that is loaded; ``None`` if none is.
        objection: why loading it fails all the same; ``None`` if it does not.
        verdicts: of every published variant.
    """

    repository: str
    revision: str
    commit: str
    torch: str
    rocm: str
    arch: str | None
    variant: str | None
    objection: str | None
    verdicts: tuple[Verdict, ...]


def explain(view: View, machine: Machine, *, revision: str | None, arch: str | None) -> Explanation:
    """Return what a machine gets of a published kernel.

    Args:
        view: the repository.
        machine: torch and ROCm of the user.
        revision: branch, tag or commit; a number is a version; ``None`` for the newest version.
        arch: gfx arch of the user's GPU.

    Raises:
        InputError: there is no such repository or revision.
        MissingRequirementError: the client is not installed.
        RocmatrixError: the Hub does not answer.
    """
    require_client()
    name, commit = _revision(view, revision)
    names = variants_of(view.tree(commit))
    choice = choose(names, machine)
    return Explanation(
        repository=view.repository,
        revision=name,
        commit=commit,
        torch=machine.torch,
        rocm=machine.rocm,
        arch=arch,
        variant=choice.variant,
        objection=_objection(view, commit, choice.variant, arch) if choice.variant else None,
        verdicts=tuple(_verdict(each, choice) for each in names),
    )


def _revision(view: View, revision: str | None) -> tuple[str, str]:
    """Return the name and the commit of a revision, found as the client finds it."""
    references = view.named_references()
    versions = sorted((int(name[1:]), name) for name in references.branches if name[:1] == "v" and name[1:].isdigit())
    if revision is None:
        if not versions:
            raise InputError(
                "no version is published: there is no branch v<N>",
                where=view.repository,
                fix="Name a revision: owner/name@main.",
            )
        return versions[-1][1], references.branches[versions[-1][1]]
    name = f"v{revision}" if revision.isdigit() else revision
    commit = references.branches.get(name) or references.tags.get(name)
    if commit is None and len(name) == 40 and not read_version(name):  # noqa: PLR2004 - a commit's full id
        commit = name
    if commit is None:
        known = ", ".join([*(name for _, name in versions), *sorted(references.tags)]) or "none"
        raise InputError(f"there is no revision {name}", where=view.repository, fix=f"There are: {known}.")
    return name, commit


def _verdict(name: str, choice: Choice) -> Verdict:
    if name == choice.variant:
        return Verdict(variant=name, loaded=True, reason="the first of those that fit")
    fits = "it fits, and the client prefers the other one" if choice.variant else "its name is no variant's"
    return Verdict(variant=name, loaded=False, reason=choice.rejected.get(name, fits))


def _objection(view: View, commit: str, variant: str, arch: str | None) -> str | None:
    """Return why the chosen variant does not load: its metadata is missing, or lacks the machine's arch.

    The client compares archs literally (kernels 0.17.2, archs.py).
    """
    content = view.read(commit, f"{BUILD}/{variant}/{METADATA_NAME}")
    try:
        metadata = json.loads(content)
        archs = metadata["backend"].get("archs")
    except (ValueError, KeyError, AttributeError, TypeError):
        return f"{METADATA_NAME} is missing or is not what the client reads"
    if arch is not None and archs is not None and arch not in archs:
        return f"it was compiled for {', '.join(map(str, archs))}, and this GPU is {arch}"
    return None
