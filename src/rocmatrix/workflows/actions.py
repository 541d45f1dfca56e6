"""Actions that workflow files use, each with what stands in for it where GitHub is not.

act fetches nothing here: it takes each action from a folder. The stand-ins are composite actions of ours that behave as
the real ones where it matters to a workflow; docs/workflows.md says where they do not.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import InputError

STAND_INS = Path(__file__).parent / "stand_ins"
_SCRIPT = "artifacts.py"
_USES = re.compile(r"""^(?P<head>\s*(?:-\s+)?uses:\s*)["']?(?P<what>[^\s"'#]+)["']?""", re.MULTILINE)
_REMOTE = re.compile(r"(?P<repository>[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)(?P<path>/[^@\s]+)?@(?P<ref>[^\s@]+)")
REUSABLE = Path(".github/workflows/build-kernel.yml")
"""The workflow of rocmatrix that others call."""

_SELF = "$/"
_OWN_ACTIONS = Path(".github/actions")


@dataclass(frozen=True, kw_only=True)
class Used:
    """One repository of actions or workflows at a revision, as ``uses:`` names it.

    Attributes:
        repository: ``owner/name``.
        ref: commit, tag or branch.
    """

    repository: str
    ref: str


def used_by(text: str) -> frozenset[Used]:
    """Return what a workflow or an action uses from other repositories."""
    found = (_REMOTE.fullmatch(match["what"]) for match in _USES.finditer(text))
    return frozenset(Used(repository=match["repository"], ref=match["ref"]) for match in found if match)


def with_self(text: str, toolkit: Used) -> str:
    """Return a workflow with ``$/path``, which act does not know, written as the repository that it means."""

    def named(match: re.Match[str]) -> str:
        if not match["what"].startswith(_SELF):
            return match[0]
        return f"{match['head']}{toolkit.repository}/{match['what'].removeprefix(_SELF)}@{toolkit.ref}"

    return _USES.sub(named, text)


def lay_out_toolkit(source: Path, into: Path, toolkit: Used) -> None:
    """Copy the toolkit's reusable workflow and its actions, in a form that act reads; what installs has a stand-in.

    Args:
        source: folder that holds ``.github`` of the toolkit.
        into: a folder that is made.
        toolkit: what callers name it.
    """
    shutil.copytree(source / _OWN_ACTIONS, into / _OWN_ACTIONS)
    (into / REUSABLE).parent.mkdir()
    shutil.copyfile(source / REUSABLE, into / REUSABLE)
    for path in (into / ".github").rglob("*.yml"):
        path.write_text(with_self(path.read_text(encoding="utf-8"), toolkit), encoding="utf-8")
    for stand_in in STAND_INS.glob("*.yml"):
        if (action := into / _OWN_ACTIONS / stand_in.stem).is_dir():
            shutil.copyfile(stand_in, action / "action.yml")


def lay_out_stand_ins(used: Iterable[Used], into: Path, known: Mapping[str, Path]) -> dict[Used, Path]:
    """Return the folder of each repository that is used: what is known, or a copy of our stand-in.

    Raises:
        InputError: there is no stand-in for one.
    """
    folders: dict[Used, Path] = {}
    for each in sorted(used, key=lambda one: (one.repository, one.ref)):
        if each.repository in known:
            folders[each] = known[each.repository]
            continue
        owner, _, name = each.repository.partition("/")
        source = STAND_INS / name
        if owner != "actions" or not source.is_dir():
            there = ", ".join(f"actions/{path.name}" for path in sorted(STAND_INS.iterdir()) if path.is_dir())
            raise InputError(
                f"the workflow uses {each.repository}, which a rehearsal has no stand-in for",
                where="--workflow",
                fix=f"Use plain commands, or one of: {there}.",
            )
        folders[each] = into / name
        if not folders[each].exists():
            shutil.copytree(source, folders[each])
            shutil.copyfile(STAND_INS / _SCRIPT, folders[each] / _SCRIPT)
    return folders
