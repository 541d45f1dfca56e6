"""Runs pip for a private environment. Which index, proxy, certificates and cache is up to pip's configuration.

Only where to install is ours: settings that would send packages elsewhere are taken out of its variables.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from private_environment import REPOSITORY
from private_environment.display import Display
from private_environment.environment import inherited_variables
from private_environment.machine import ROOM
from private_environment.pip_output import PipOutput
from rocmatrix.errors import MissingRequirementError

# Each a pip option that says where or what to install, or silences the lines that are read here.
_OURS = frozenset(
    {
        *("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_SRC", "PIP_REQUIRE_VIRTUALENV"),
        *("PIP_REQUIREMENT", "PIP_EDITABLE", "PIP_GROUP", "PIP_NO_DEPS", "PIP_IGNORE_INSTALLED", "PIP_FORCE_REINSTALL"),
        *("PIP_NO_BINARY", "PIP_ONLY_BINARY", "PIP_DRY_RUN", "PIP_REPORT"),
        *("PIP_QUIET", "PIP_VERBOSE", "PIP_PROGRESS_BAR", "PIP_NO_COLOR"),
    }
)
WHEELS_ONLY = ("--only-binary=:all:", "--require-hashes")  # no compiler is needed, and nothing but what the lock names
_SECONDS_TO_STOP = 5.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended, with what was read of its output."""

    status: int
    output: PipOutput


def run_installer(command: Sequence[str], *, display: Display, keep_open: int) -> Outcome:
    """Run a command that prints as pip does, in a session of its own, and show what it fetches.

    ``keep_open`` is the descriptor of the environment's lock, which the command holds as long as it lives. However this
    returns, no process of the command is left.
    """
    output = PipOutput(display, REPOSITORY)
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env=pip_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        pass_fds=(keep_open,),
        start_new_session=True,
    )
    try:
        assert process.stdout is not None  # noqa: S101 - PIPE above; for the type checker
        for line in process.stdout:
            output.feed(line.rstrip("\n"))
        output.finish()
        return Outcome(status=process.wait(), output=output)
    finally:
        _stop(process)


def pip_install(
    python: Path, arguments: Sequence[str], *, display: Display, keep_open: int, progress: str = "raw"
) -> None:
    """Install with the pip of an environment; ``arguments`` name the lock.

    ``progress`` is pip's own word: ``raw`` counts bytes, and only ``off`` is known to every pip.

    Raises:
        MissingRequirementError: pip could not; says which requirement, pip's last line about it, and what to do.
    """
    options = ("--no-input", "--no-user", "--disable-pip-version-check", "--no-color", f"--progress-bar={progress}")
    command = (str(python), "-I", "-u", "-m", "pip", "install", *options, *WHEELS_ONLY, *arguments)
    outcome = run_installer(command, display=display, keep_open=keep_open)
    if outcome.status != 0:
        raise failure(outcome, python.parent.parent, who="pip")


def failure(outcome: Outcome, directory: Path, *, who: str) -> MissingRequirementError:
    """Return the error for a set-up that stopped: what is missing, the last line of ``who``, and what to do."""
    output = outcome.output
    said = output.last_error or f"it ended with status {outcome.status} and said nothing"
    connection = f" (the connection broke: {output.connection})" if output.connection else ""
    missing = f"{output.missing} is missing; " if output.missing else ""
    return MissingRequirementError(
        f"the private environment could not be set up: {missing}{who} said: {said}{connection}",
        where=str(directory),
        fix=_what_to_do(f"{said} {output.connection}") + " Nothing half made was left; the next start begins anew.",
    )


def pip_variables() -> Mapping[str, str]:
    """Return the variables that pip runs with: the user's, less those that would send packages elsewhere."""
    return {name: value for name, value in inherited_variables().items() if name not in _OURS}


def _what_to_do(said: str) -> str:
    if "No space left" in said or "quota" in said:
        return (
            f"Make room there: {ROOM}. pip also unpacks in TMPDIR. "
            "ROCMATRIX_ENVIRONMENTS names another folder for private environments."
        )
    if "DO NOT MATCH THE HASHES" in said:
        return (
            "The index that pip is configured with served other bytes than the lock in requirements/ names; they were "
            "refused. Look at `python3 -m pip config list`; if the lock is out of date, run requirements/refresh.sh."
        )
    return (
        "Check the network and pip's own settings (`python3 -m pip config list`, PIP_INDEX_URL, PIP_PROXY, "
        "PIP_NO_INDEX), then run the same command again."
    )


def _stop(process: subprocess.Popen[str]) -> None:
    """End the command's whole session if the command has not ended, gently first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_STOP)
    if process.stdout is not None:
        process.stdout.close()
