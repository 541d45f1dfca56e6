"""Where sources come from: the commit of the git working tree that holds a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.metadata import GitState

if TYPE_CHECKING:
    from git import Repo


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """There is no commit to name; ``reason`` says why, for people."""

    reason: str


def read_git_state(project: Path, *, out: Path | None = None) -> GitState | Unknown:
    """Return the commit that a kernel's sources belong to and whether it says everything about them.

    ``dirty`` follows kernel-builder, which looks at tracked files of the whole working tree; a file in the kernel's
    folder that git neither tracks nor ignores counts too, because a build reads it and the commit does not have it.

    Args:
        project: the kernel's folder.
        out: the output folder; where it lies in the kernel's folder nothing in it counts, for no build reads it.
    """
    try:
        import git  # noqa: PLC0415 - needs a tenth of a second, and fails where there is no git program
    except ImportError:
        return Unknown(reason="git is not installed")
    try:
        with git.Repo(project, search_parent_directories=True) as repo:
            return _state(repo, project.resolve(), out)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        return Unknown(reason="it is not in a git repository")
    except git.GitCommandError as err:
        return Unknown(reason=f"git failed: {err.stderr.strip().removeprefix('stderr: ')}")
    except (ValueError, OSError) as err:
        return Unknown(reason=f"its git repository cannot be read: {err}")


def _state(repo: Repo, project: Path, out: Path | None) -> GitState | Unknown:
    """Return the state of an open repository; its index is not refreshed and no monitor of its configuration runs."""
    git = repo.git
    git.update_environment(GIT_OPTIONAL_LOCKS="0")
    git.set_persistent_git_options(c="core.fsmonitor=false")
    if not repo.head.is_valid():
        return Unknown(reason="its git repository has no commit yet")
    if not git.ls_files("--", str(project)):
        return Unknown(reason="the git repository around it does not track it")
    changed = git.status("--porcelain", "--untracked-files=no")
    ours = [f":(exclude){out.resolve()}"] if out is not None and project in out.resolve().parents else []
    unknown = git.ls_files("--others", "--exclude-standard", "--", str(project), *ours)
    return GitState(commit=repo.head.commit.hexsha, dirty=bool(changed or unknown))
