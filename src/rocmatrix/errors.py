"""Errors that people see: one base class, one exit code per kind, each message says what, where and what to do.

The exit codes are the ones of the command line and are part of its interface:
0 done, 1 a bug in rocmatrix, 2 input or usage, 3 the environment lacks something, 4 build, 5 audit, 6 check,
7 release refused or failed, 8 bench gate, 130 interrupted. When several units fail in different ways, the first of
4, 5, 6, 8, 3 that occurred is the exit code of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the process returns; one number per kind of failure."""

    DONE = 0
    BUG = 1
    INPUT = 2
    ENVIRONMENT = 3
    BUILD = 4
    AUDIT = 5
    CHECK = 6
    RELEASE = 7
    BENCH = 8
    INTERRUPTED = 130


_PRECEDENCE = (ExitCode.BUILD, ExitCode.AUDIT, ExitCode.CHECK, ExitCode.BENCH, ExitCode.ENVIRONMENT)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code that a run with these outcomes ends with.

    A code outside the precedence list (input, release, interrupted, bug) ends a run at once and is raised, not
    collected; handing one in here is therefore a programming error and raises ``ValueError``.
    """
    seen = set(codes) - {ExitCode.DONE}
    if stray := seen - set(_PRECEDENCE):
        raise ValueError(f"exit codes {sorted(stray)} end a run at once and cannot be collected")
    return next((code for code in _PRECEDENCE if code in seen), ExitCode.DONE)


class RocmatrixError(Exception):
    """Base of every error that is meant for a person.

    Attributes:
        what: what happened, one sentence.
        where: the file with its line, the key path or the unit it happened in, or ``None``.
        fix: what to do next, or ``None`` where nothing but ``what`` can be said.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        """Keep the three parts of the message; ``str()`` of the error joins them."""
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        """Return ``where: what`` on the first line and what to do on the next."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.fix}" if self.fix else head


class InputError(RocmatrixError):
    """A file or an argument that the user gave is wrong."""

    exit_code = ExitCode.INPUT


class MissingRequirementError(RocmatrixError):
    """This machine lacks something: a tool, a network, disk space, a GPU, or a toolchain that could build a unit."""

    exit_code = ExitCode.ENVIRONMENT


class BuildError(RocmatrixError):
    """A unit did not compile, did not link, or failed a gate after its build."""

    exit_code = ExitCode.BUILD


class AuditError(RocmatrixError):
    """A binary is not what it promises to be."""

    exit_code = ExitCode.AUDIT


class CheckError(RocmatrixError):
    """A kernel computed wrong numbers, or its numerical cases cannot be run."""

    exit_code = ExitCode.CHECK


class ReleaseError(RocmatrixError):
    """A release was refused or failed; nothing that users load was changed."""

    exit_code = ExitCode.RELEASE


class BenchError(RocmatrixError):
    """A benchmark gate did not hold."""

    exit_code = ExitCode.BENCH
