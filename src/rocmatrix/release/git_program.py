"""git and git-lfs as a release runs them: in a repository of our own, by nobody's settings but ours, never for ever."""

from __future__ import annotations

import base64
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git import Git, GitCommandError, Repo

from rocmatrix.errors import MissingRequirementError, ReleaseError
from rocmatrix.release.credentials import SECRETS, Credential
from rocmatrix.release.git_credential import USER
from rocmatrix.release.git_failures import Failure, read_failure
from rocmatrix.release.hub import MovedError, TransientError

logging.getLogger("git").setLevel(logging.CRITICAL)  # GitPython repeats there what it raises
ORIGIN = "origin"
_UNADVERTISED = "unadvertised object"
_PUSHED = "refs/rocmatrix/pushed"
_MANY = 500
"""Arguments of one command: a few of these fit into what Linux takes (execve(2))."""
_IDENTITY = {
    **{f"GIT_{who}_NAME": "rocmatrix" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "rocmatrix@localhost" for who in ("AUTHOR", "COMMITTER")},
}
"""Who commits and tags, where the caller's environment does not say it."""
_FILTER = {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge --skip -- %f",
    "filter.lfs.process": "git-lfs filter-process --skip",
    "filter.lfs.required": "true",
}
"""What ``git lfs install --skip-smudge`` of git-lfs 3.3 configures, without the hooks that it makes."""
_UNSET = (
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_TRACE",
    "GIT_TRACE_CURL",
)
"""Variables of git that would lead it elsewhere, or let it say more than what it fails of."""


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """When git is stopped, in seconds.

    Attributes:
        silence: without a byte from or to the server.
        local: one command that asks no server.
        network: one command that does. A server's answer that leaves an object out lets git-lfs 3.3 wait for ever.
    """

    silence: int = 60
    local: float = 600.0
    network: float = 1800.0


@dataclass(frozen=True, kw_only=True)
class Host:
    """A repository on a git host.

    Attributes:
        address: of the repository; no secret is in it.
        repository: its name, for messages.
        credential: for masking what is said.
        settings: of git, that lead to the credential.
        limits: of time.
    """

    address: str
    repository: str
    credential: Credential
    settings: Mapping[str, str]
    limits: TimeLimits


class GitProgram:
    """git in one repository of its own that knows one remote."""

    def __init__(self, folder: Path, host: Host) -> None:
        """Make the repository."""
        self._host = host
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        environment = _environment(folder, host)
        starting = Git(folder)
        starting.update_environment(**environment)
        starting.execute(["git", "init", "-q", "--initial-branch=none"], kill_after_timeout=host.limits.local)
        self.repo = Repo(folder)
        self.repo.git.update_environment(**environment)
        self.repo.create_remote(ORIGIN, host.address)
        self._here: set[str] = set()

    def close(self) -> None:
        """End what git keeps running, and remove the repository."""
        self.repo.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def local(self, *arguments: str) -> str:
        """Run a command that asks no server, and return what it says."""
        return self._run(arguments, self._host.limits.local)

    def network(self, *arguments: str) -> str:
        """Run a command that asks the server, and return what it says."""
        return self._run(arguments, self._host.limits.network)

    def local_on(self, paths: tuple[str, ...], *arguments: str) -> None:
        """Run a local command on paths, as often as they need."""
        for first in range(0, len(paths), _MANY):
            self.local(*arguments, "--", *paths[first : first + _MANY])

    def fetch(self, commit: str) -> None:
        """Bring a commit of the server here, without the ones before it; one that is here is not asked for.

        A server that gives only what its references name is asked for all of them (git before protocol version 2).
        """
        if commit in self._here:
            return
        if not self._has(commit):
            self._fetch(commit)
        self._here.add(commit)

    def _fetch(self, commit: str) -> None:
        try:
            self.network("fetch", "-q", "--depth=1", "--no-tags", ORIGIN, commit)
        except ReleaseError as err:
            if _UNADVERTISED not in err.what:
                raise
            self.network("fetch", "-q", ORIGIN, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")

    def _has(self, commit: str) -> bool:
        command = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
        done = self.repo.git.execute(
            command, with_extended_output=True, with_exceptions=False, kill_after_timeout=self._host.limits.local
        )
        return done[0] == 0

    def push(self, source: str, full: str, *, expected: str | None) -> None:
        """Let a reference of the server be an object of ours, if it still is what it was.

        The hook of git-lfs is not run: objects were uploaded before.

        Args:
            source: a commit or a reference here; empty to delete.
            full: the reference there.
            expected: the commit that it is at; ``None`` if it must not exist.

        Raises:
            MovedError: it is not.
        """
        if source and not source.startswith("refs/"):  # GitPython 3.2.1 cannot read that a bare commit was pushed
            self.local("update-ref", _PUSHED, source)
            source = _PUSHED
        try:
            done = self.repo.remote(ORIGIN).push(
                f"{source}:{full}",
                kill_after_timeout=self._host.limits.network,
                no_verify=True,
                force_with_lease=f"{full}:{expected or ''}",
            )
            refused = [info.summary for info in done if info.flags & info.ERROR]
            if refused:  # why is in these lines alone: --porcelain has git say it there and not with its error
                raise self._meaning("; ".join(refused))
            done.raise_if_error()
        except GitCommandError as err:
            raise self._failure(err) from err
        if not done:
            raise self._meaning("git pushed nothing")

    def _run(self, arguments: tuple[str, ...], seconds: float) -> str:
        try:
            return str(self.repo.git.execute(["git", *arguments], kill_after_timeout=seconds))
        except GitCommandError as err:
            raise self._failure(err) from err

    def _failure(self, err: GitCommandError) -> Exception:
        return self._meaning(f"{err.stderr}\n{err.stdout}")

    def _meaning(self, said: str) -> Exception:
        """Return the error for what git said; no secret is in it."""
        reading = read_failure(masked(said, self._host.credential))
        what, where = f"git: {reading.sentence}", self._host.address
        errors: Mapping[Failure, Exception] = {
            Failure.TRANSIENT: TransientError(f"{what} ({where})"),
            Failure.MOVED: MovedError(what),
            Failure.ABSENT: AbsentError(what),
            Failure.UNAUTHORIZED: ReleaseError(
                f"{where} does not allow it: {reading.sentence}",
                where=self._host.repository,
                fix=f"The credential was {self._host.credential.source}. It needs the right to push there.",
            ),
            Failure.DISK: full_disk(self.folder, reading.sentence),
            Failure.OTHER: ReleaseError(what, where=where, fix="Look at what the server says."),
        }
        return errors[reading.failure]


class AbsentError(Exception):
    """The server has no such repository, or does not show it."""


def full_disk(folder: Path, said: str) -> MissingRequirementError:
    """Say that this machine's disk does not take what a release needs beside it."""
    return MissingRequirementError(
        f"this machine's disk is full: {said}",
        where=str(folder.parent),
        fix="Make room there, or set TMPDIR to a folder with room; nothing is lost, run the same command again.",
    )


def masked(text: str, credential: Credential) -> str:
    """Return a text without the secret, also as HTTP sends it."""
    if credential.token is None:
        return text
    basic = base64.b64encode(f"{USER}:{credential.token}".encode()).decode("ascii")
    return credential.masked(text).replace(basic, "***")


def require_programs() -> None:
    """Refuse to begin without what the transport git starts.

    Raises:
        MissingRequirementError: it names what is missing.
    """
    for program, why in (("git-lfs", "binaries are pushed by it"), ("ps", "a git that hangs is stopped with it")):
        if shutil.which(program) is None:
            raise MissingRequirementError(
                f"{program} is not installed, and {why}",
                fix="Install it (Debian: git-lfs, procps), or release by the Hub's API.",
            )


def _settings(host: Host) -> Mapping[str, str]:
    """Return the settings of git: what leads to the credential, git-lfs as a filter, and no waiting for ever."""
    return {
        **host.settings,
        **_FILTER,
        "core.autocrlf": "false",
        "core.fileMode": "false",
        "core.symlinks": "false",
        "gc.auto": "0",
        "advice.detachedHead": "false",
        "protocol.version": "2",
        "http.lowSpeedLimit": "1",
        "http.lowSpeedTime": str(host.limits.silence),
        "lfs.activitytimeout": str(host.limits.silence),
        "lfs.dialtimeout": str(host.limits.silence),
        "lfs.locksverify": "false",
        "lfs.allowincompletepush": "false",
    }


def _environment(folder: Path, host: Host) -> Mapping[str, str]:
    """Return what git is told beside the caller's environment: nobody's settings but ours, and no secret."""
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir(exist_ok=True)
    settings = _settings(host)
    numbered = {f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    directory = folder / ".git"
    return {
        **dict.fromkeys(SECRETS, ""),
        **dict.fromkeys(_UNSET, ""),
        **{name: os.environ.get(name, value) for name, value in _IDENTITY.items()},
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_DIR": str(directory),
        "GIT_WORK_TREE": str(folder),
        "GIT_INDEX_FILE": str(directory / "index"),
        "GIT_OBJECT_DIRECTORY": str(directory / "objects"),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        **numbered,
    }
