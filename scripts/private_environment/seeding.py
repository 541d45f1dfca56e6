"""The ways in which a new environment gets its first pip: the one that came with Python, or one of this machine.

Whichever it was, the pip that requirements/pip.txt pins is installed with it next, so that all that follows behaves
the same everywhere.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from private_environment import REPOSITORY
from private_environment.display import Display
from private_environment.environment import PrivateEnvironment
from private_environment.lock import EnvironmentLock
from private_environment.machine import how_to_get_pip
from private_environment.pip_client import WHEELS_ONLY, failure, run_installer
from rocmatrix.errors import MissingRequirementError

PIP_LOCK = REPOSITORY / "requirements" / "pip.txt"

Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Way:
    """Commands that, one after the other, make an environment with a pip in it.

    Attributes:
        name: what it uses, for people.
        commands: argument lists.
        pinned: whether that pip is the one of requirements/pip.txt already.
    """

    name: str
    commands: tuple[Command, ...]
    pinned: bool


def ways(environment: PrivateEnvironment) -> Iterator[Way]:
    """Yield the ways that this machine offers, those that need no network first."""
    directory, python = str(environment.directory), str(environment.python)
    venv = (sys.executable, "-I", "-m", "venv")
    bare = (*venv, "--without-pip", directory)
    lock = ("--requirement", str(PIP_LOCK))
    if _has("venv") and _has("ensurepip"):
        yield Way(name="ensurepip", commands=((*venv, directory),), pinned=False)
    for virtualenv in _callable("virtualenv"):
        yield Way(name="virtualenv", commands=((*virtualenv, "--python", sys.executable, directory),), pinned=False)
    for pip in _callable("pip") if _has("venv") else ():
        install = (*pip, "--python", python, "install", *WHEELS_ONLY, *lock)
        yield Way(name="pip", commands=(bare, install), pinned=True)
    for uv in _callable("uv"):
        make = (*uv, "venv", "--no-project", "--python", sys.executable, directory)
        install = (*uv, "pip", "install", "--python", python, "--require-hashes", "--only-binary=:all:", *lock)
        yield Way(name="uv", commands=(make, install), pinned=True)


def seed(environment: PrivateEnvironment, *, display: Display, lock: EnvironmentLock) -> bool:
    """Make the environment with some pip in it, by the first way that works; return whether that is the pinned one.

    Raises:
        MissingRequirementError: no way is there, or none worked; the last way's own words are in the message.
    """
    error: MissingRequirementError | None = None
    for way in ways(environment):
        error = _go(way, environment, display=display, lock=lock)
        if error is None:
            return way.pinned
        display.say(f"  with {way.name} it did not work")
        environment.discard()
    raise error or MissingRequirementError(
        f"Python {sys.version_info.major}.{sys.version_info.minor} ({sys.executable}) has no ensurepip, "
        "and no pip, virtualenv or uv was found either",
        fix=f"Install one of them, for example: {how_to_get_pip()}",
    )


def _go(
    way: Way, environment: PrivateEnvironment, *, display: Display, lock: EnvironmentLock
) -> MissingRequirementError | None:
    for command in way.commands:
        outcome = run_installer(command, display=display, keep_open=lock.descriptor)
        if outcome.status != 0:
            return failure(outcome, environment.directory, who=way.name)
    return None


def _has(module: str) -> bool:
    """Return whether this Python has a module of its own: not one that a variable or the current folder brings in."""
    command = (sys.executable, "-I", "-c", f"import {module}")
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode == 0


def _callable(tool: str) -> Iterator[Command]:
    """Yield how to call a Python tool: as a module of this Python, then as a command on PATH."""
    if _has(tool):
        yield (sys.executable, "-I", "-m", tool)
    elif command := shutil.which(tool):
        yield (str(Path(command).absolute()),)
