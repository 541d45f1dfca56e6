"""What a run of a workflow needs on this machine: a copy of the repository, the actions, the command ``rocmatrix``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import rocmatrix
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.input_file import INPUT_LIMIT, read_input
from rocmatrix.machine.cache import cache_folder
from rocmatrix.plan.file_text import decode
from rocmatrix.plan.text import quote
from rocmatrix.workflows.act import GITHUB_REMOTE, Errand
from rocmatrix.workflows.actions import REUSABLE, Used, lay_out_stand_ins, lay_out_toolkit, used_by, with_self

TOOLKIT = "rocmatrix/rocmatrix"
"""Repository of rocmatrix itself, as callers name it."""

_PLACEHOLDER = re.compile("0+")
_SELF_REF = "the-commit-of-the-running-workflow"
_GIT_SECONDS = 120.0
_PACKAGE = Path(rocmatrix.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A scratch folder with everything that a run of a workflow needs.

    Attributes:
        scratch: the folder.
        repository: copy of the git repository.
        folders: where the actions lie.
        commands: folder with the command ``rocmatrix``.
        workflow: the workflow, in a form that act reads.
        top: folder of the repository that was copied.
    """

    scratch: Path
    repository: Path
    folders: Mapping[Used, Path]
    commands: Path
    workflow: Path
    top: Path

    def committed(self, path: Path) -> Path:
        """Return a file of the repository as it is in the commit that runs.

        Raises:
            InputError: it is not in that commit.
        """
        return _committed(path, self.top, self.repository)

    def changed(self) -> tuple[str, ...]:
        """Return files of the repository that are not as in its commit: what GitHub does not get."""
        said = _git(self.top, "-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=normal")
        return tuple(line[3:] for line in said.splitlines())

    def errand(self, *, event: str, payload: Mapping[str, object], variables: Mapping[str, str]) -> Errand:
        """Return what act is to run for an event."""
        own = {
            "ROCMATRIX_COMMANDS": str(self.commands),
            "ROCMATRIX_CACHE": str(cache_folder()),
            "ROCMATRIX_REHEARSED": str(self.repository),
        }
        return Errand(
            workflow=self.workflow,
            repository=self.repository,
            event=event,
            payload=payload,
            folders=self.folders,
            variables={**own, **variables},
            scratch=self.scratch,
        )


def set_stage(
    workflow: Path,
    scratch: Path,
    *,
    tag: str | None = None,
    toolkit: Path | None = None,
    name: str = "owner/repository",
) -> Stage:
    """Copy a repository and lay out what its workflow uses.

    Args:
        workflow: a file of the repository.
        scratch: a folder that is made.
        tag: an annotated tag to be made at the commit that is checked out, if it is not there.
        toolkit: folder with ``.github`` of rocmatrix; that of this rocmatrix if it is not given.
        name: what the repository is called on GitHub.

    Raises:
        InputError: the workflow cannot be read, is in no git repository or its commit, or uses what is not there.
        MissingRequirementError: git is not there.
    """
    scratch.mkdir(parents=True)
    top = _top(workflow.absolute().parent)
    repository = _copy(top, scratch / "repository", tag, name)
    text = decode(read_input(_committed(workflow, top, repository)), str(workflow), largest=INPUT_LIMIT)
    _require_commits(text, workflow)
    called = {each for each in used_by(text) if each.repository == TOOLKIT} or {Used(repository=TOOLKIT, ref=_SELF_REF)}
    folders = _toolkits(called, toolkit or toolkit_source(), scratch / "toolkit")
    text = with_self(text, min(called, key=lambda one: one.ref))
    texts = [text, *(path.read_text(encoding="utf-8") for path in (scratch / "toolkit").rglob("*.yml"))]
    used = frozenset().union(*map(used_by, texts)) - called
    (scratch / "workflows").mkdir()
    (scratch / "workflows" / workflow.name).write_text(text, encoding="utf-8")
    return Stage(
        scratch=scratch,
        repository=repository,
        folders={**folders, **lay_out_stand_ins(used, scratch / "actions", {})},
        commands=_commands(scratch / "commands"),
        workflow=scratch / "workflows" / workflow.name,
        top=top,
    )


def _top(folder: Path) -> Path:
    """Return the top folder of the repository around a folder.

    Raises:
        InputError: there is none, or it has no commit.
    """
    try:
        top = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))
    except InputError as err:
        if "not a git repository" not in err.what:
            raise
        fix = "Run `git init` and commit what GitHub is to get."
        raise InputError("this is in no git repository", where=str(folder), fix=fix) from err
    try:
        _git(top, "rev-parse", "--verify", "--quiet", "HEAD")
    except InputError as err:
        said = "this repository has no commit yet, and the commit is all that GitHub gets"
        raise InputError(said, where=str(top), fix="Commit the workflow, matrix.yaml and the kernel.") from err
    return top


def _committed(path: Path, top: Path, clone: Path) -> Path:
    own = path.resolve()
    found = clone / own.relative_to(top.resolve()) if own.is_relative_to(top.resolve()) else None
    if found is None or not found.is_file():
        raise InputError(
            "it is not in the commit that is checked out, and the commit is all that GitHub gets",
            where=str(path),
            fix="Commit it.",
        )
    return found


def _require_commits(text: str, workflow: Path) -> None:
    """Refuse what README has in place of a commit: nothing on GitHub is there."""
    left = next((each for each in used_by(text) if _PLACEHOLDER.fullmatch(each.ref)), None)
    if left is not None:
        raise InputError(
            f"{left.repository} is used at {left.ref}, which stands in place of a commit",
            where=str(workflow),
            fix=f"Put a commit there: `git ls-remote https://github.com/{left.repository} HEAD` prints one.",
        )


def _toolkits(called: Iterable[Used], source: Path, into: Path) -> dict[Used, Path]:
    """Lay the toolkit out for each revision that a workflow calls it at, and return where."""
    folders = {}
    for number, each in enumerate(sorted(called, key=lambda one: one.ref)):
        folders[each] = into / str(number)
        lay_out_toolkit(source, folders[each], each)
    return folders


def toolkit_source() -> Path:
    """Return the folder with ``.github`` of this rocmatrix: of a checkout, or what the package brings.

    Raises:
        MissingRequirementError: neither is there.
    """
    for folder in (_PACKAGE.parents[1], _PACKAGE / "workflows" / "toolkit"):
        if (folder / REUSABLE).is_file():
            return folder
    raise MissingRequirementError(
        "this installation of rocmatrix lacks its workflows", fix="Install it anew, or work in a checkout."
    )


def _commands(folder: Path) -> Path:
    """Write a command ``rocmatrix`` that is this very one."""
    folder.mkdir()
    python, path = shlex.quote(sys.executable), shlex.quote(str(_PACKAGE.parent))
    script = f'#!/bin/sh\nPYTHONPATH={path} exec {python} -P -m rocmatrix "$@"\n'
    (folder / "rocmatrix").write_text(script)
    (folder / "rocmatrix").chmod(0o755)
    return folder


def _copy(top: Path, into: Path, tag: str | None, name: str) -> Path:
    """Clone a repository at the commit that is checked out there; its own origin is the copy itself."""
    _git(top, "clone", "--quiet", "--no-hardlinks", str(top), str(into))
    _git(into, "remote", "set-url", "origin", str(into))
    _git(into, "remote", "add", GITHUB_REMOTE, f"https://github.com/{name}.git")
    if tag and not _git(into, "tag", "--list", tag).strip():
        identity = ("-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost")
        _git(into, *identity, "tag", "-a", tag, "-m", "rehearsal")
    return into


def _git(folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        raise MissingRequirementError("git is not installed", fix="Install git.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**environment, "LC_ALL": "C"},  # what it says is read
        capture_output=True,
        text=True,
        check=False,
        timeout=_GIT_SECONDS,
    )
    if done.returncode != 0:
        said = quote(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "git failed")
        verb = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        raise InputError(f"git {verb}: {said}", where=str(folder), fix="Rehearse in a clone with a commit.")
    return done.stdout
