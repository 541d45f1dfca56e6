"""What ``--json`` prints: one document on stdout, for a finished command or for one that was refused."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TextIO

from rocmatrix import document
from rocmatrix.errors import ExitCode
from rocmatrix.events import Notice, Stage, State
from rocmatrix.plan.model import Plan, UnitId
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Coverage
from rocmatrix.report.board import Row
from rocmatrix.report.subject import Subject
from rocmatrix.report.text import encodable

RESULT_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class ErrorPart:
    """The parts of a ``RocmatrixError``, and the exit code of the process."""

    what: str
    where: str | None
    fix: str | None
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class ErrorDocument:
    """What a command that was refused or interrupted prints."""

    error: ErrorPart


@dataclass(frozen=True, kw_only=True)
class StageDocument:
    """One stage of one unit: how it ended, why, and its wall time in seconds; ``error`` is the tool's own words."""

    stage: Stage
    state: State | None
    reason: str
    seconds: float
    log: str | None
    error: str | None


@dataclass(frozen=True, kw_only=True)
class UnitDocument:
    """One selected unit: what happened to it now, and the records that hold for it."""

    id: UnitId
    stages: tuple[StageDocument, ...]
    build: BuildRecord | None
    audit: AuditRecord | None
    check: CheckRecord | None


@dataclass(frozen=True, kw_only=True)
class RunDocument:
    """What a finished command prints, whether or not units failed.

    Attributes:
        command: the verb.
        exit_code: what the process returns.
        seconds: wall time.
        received: bytes downloaded.
        out: the output folder.
    """

    schema: int = RESULT_SCHEMA
    command: str
    exit_code: int
    seconds: float
    received: int
    out: str
    plan: Plan
    units: tuple[UnitDocument, ...]
    coverage: tuple[Coverage, ...]
    notices: tuple[Notice, ...]


def run_document(subject: Subject) -> RunDocument:
    """Return the document for a finished command."""
    result, board = subject.result, subject.board
    return RunDocument(
        command=subject.command,
        exit_code=int(result.exit_code),
        seconds=result.seconds,
        received=board.received,
        out=encodable(str(subject.options.out)),
        plan=result.plan,
        units=tuple(
            UnitDocument(
                id=unit.id,
                stages=_stages(board.rows.get(unit.id)),
                build=result.builds.get(unit.id),
                audit=result.audits.get(unit.id),
                check=result.checks.get(unit.id),
            )
            for unit in result.units
        ),
        coverage=tuple(result.coverage.values()),
        notices=tuple(board.notices),
    )


def error_document(what: str, *, where: str | None, fix: str | None, code: ExitCode) -> ErrorDocument:
    """Return the document for a command that was refused or interrupted."""
    return ErrorDocument(
        error=ErrorPart(
            what=encodable(what),
            where=encodable(where) if where else None,
            fix=encodable(fix) if fix else None,
            exit_code=int(code),
        )
    )


def write_document(made: object, stream: TextIO) -> None:
    """Write a document as UTF-8, whatever the encoding of the stream."""
    _write(document.to_json(made), stream)


def one_line_json(made: object) -> str:
    """Return a document as one line, as an output of a step holds it."""
    return json.dumps(document.to_builtins(made), separators=(",", ":"))


def write_line(made: object, stream: TextIO) -> None:
    """Write a document as one line."""
    _write(f"{one_line_json(made)}\n".encode(), stream)


def _write(text: bytes, stream: TextIO) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.flush()
        stream.buffer.write(text)
        stream.buffer.flush()
    else:
        stream.write(text.decode())


def _stages(row: Row | None) -> tuple[StageDocument, ...]:
    if row is None:
        return ()
    return tuple(
        StageDocument(
            stage=stage,
            state=view.state,
            reason=encodable(view.reason),
            seconds=view.seconds,
            log=encodable(view.log) if view.log else None,
            error=encodable(view.error) if view.error else None,
        )
        for stage, view in row.stages.items()
    )
