"""``release.json``: what a release did so far. A hint for people: the Hub is the truth, a release works without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from rocmatrix import atomic, document

JOURNAL_SCHEMA = 1


class Step(StrEnum):
    """The steps of a release, in order."""

    REPOSITORY = "repository"
    STAGE = "stage"
    VERIFY = "verify"
    PROMOTE = "promote"
    COMPARE = "compare"
    TAG = "tag"
    CARD = "card"
    CLEAN = "clean"


@dataclass(frozen=True, kw_only=True)
class DoneStep:
    """A step that is done: which, and the commit that it is about."""

    step: Step
    commit: str


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The whole of ``release.json``.

    Attributes:
        kernel: whose release.
        hub: address of the Hub.
        repository: on the Hub.
        tag: of the release, on the Hub.
        source_commit: of the sources.
        credential: where the credential came from; never the credential.
        steps: those that are done.
        outcome: ``released``, ``already released``, ``stopped``, or ``running``.
        reason: why it stopped.
    """

    schema: int = JOURNAL_SCHEMA
    kernel: str
    hub: str
    repository: str
    tag: str
    source_commit: str
    credential: str
    steps: tuple[DoneStep, ...] = ()
    outcome: str = "running"
    reason: str = ""


class JournalFile:
    """Keeps the journal on disk, each step as it is done."""

    def __init__(self, path: Path | None, journal: Journal) -> None:
        """Begin a journal anew; without a path it is not kept."""
        self._path = path
        self.journal = journal
        self._write()

    def done(self, step: Step, commit: str) -> None:
        """Note a step."""
        steps = (*self.journal.steps, DoneStep(step=step, commit=commit))
        self.journal = replace(self.journal, steps=steps)
        self._write()

    def end(self, outcome: str, reason: str = "") -> None:
        """Note how it ended."""
        self.journal = replace(self.journal, outcome=outcome, reason=reason)
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            atomic.write_file(self._path, document.to_json(self.journal))
