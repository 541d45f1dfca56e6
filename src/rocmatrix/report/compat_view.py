"""What ``rocmatrix matrix update`` found: for people, and as a document."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rocmatrix.plan.compat_changes import Change
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.survey import Survey
from rocmatrix.plan.text import in_words
from rocmatrix.report.text import count, encodable, one_line

UPDATE_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class SourceDocument:
    """One source, and why it gave no answer that could be used; ``reason`` is ``None`` for one that did."""

    name: str
    answered: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class UpdateDocument:
    """What the command prints with ``--json``.

    Attributes:
        compat: the file that was compared; ``None`` for the one that comes with rocmatrix.
        complete: whether every source answered.
        written: whether the file was changed.
        proposed: the changes that are, or would be, written.
    """

    schema: int = UPDATE_SCHEMA
    compat: str | None
    complete: bool
    sources: tuple[SourceDocument, ...]
    changes: tuple[Change, ...]
    proposed: tuple[Change, ...]
    written: bool
    exit_code: int = 0


def update_document(
    survey: Survey, changes: tuple[Change, ...], proposed: tuple[Change, ...], *, compat: str | None, written: bool
) -> UpdateDocument:
    """Return the document of a finished command."""
    sources = [SourceDocument(name=one.source, answered=True, reason=None) for one in survey.observations]
    sources += [SourceDocument(name=one.source, answered=False, reason=one.reason) for one in survey.silences]
    return UpdateDocument(
        compat=encodable(compat) if compat else None,
        complete=not survey.silences,
        sources=tuple(sorted(sources, key=lambda source: source.name)),
        changes=changes,
        proposed=proposed,
        written=written,
    )


def show_update(document: UpdateDocument, console: Console) -> None:
    """Print the difference, who answered, and what was written."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for change in document.changes:
        doubt = " (unverified)" if change.evidence is Evidence.UNVERIFIED else ""
        seen = f"  [{', '.join(change.seen_in)}]" if change.seen_in else ""
        table.add_row(change.kind.value, Text.assemble(f"{one_line(change.says)}{doubt}", (seen, "dim")))
    if document.changes:
        console.print(table)
    answered = [source.name for source in document.sources if source.answered]
    console.print(Text(f"answered: {in_words(answered)}", style="dim"))
    for source in document.sources:
        if not source.answered:
            console.print(Text(f"no answer from {source.name}: {one_line(source.reason or '')}", style="yellow"))
    if not document.complete:
        console.print(Text("so nothing is said about what they list", style="yellow"))
    console.print(Text(_result(document), style="bold"))


def _result(document: UpdateDocument) -> str:
    against = document.compat or "the compat.toml of this rocmatrix"
    if not document.changes:
        return one_line(f"no difference to {against}")
    found = f"{count(len(document.changes), 'difference')} to {against}"
    if document.written:
        return one_line(f"{found}; {count(len(document.proposed), 'change')} written into it")
    return one_line(f"{found}; --compat FILE --write would write {len(document.proposed)} of them into FILE")
