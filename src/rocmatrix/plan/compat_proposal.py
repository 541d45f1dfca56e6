"""Changes of ``compat.toml`` written into its text: rows added and confirmed, comments and everything else kept.

Only what was seen is proposed as verified. Nothing is removed: that a pair vanished from the indexes does not unmake
the releases that promise it, and a person decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import Compat, PairRow, RocmRelease, TorchPythons, TorchRelease, read_compat
from rocmatrix.plan.compat_changes import Change, ChangeKind
from rocmatrix.plan.model import Evidence

_HEADER = re.compile(r"\[\[([a-z_]+)\]\]\s*")


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A new text of a ``compat.toml``.

    Attributes:
        content: the whole file.
        changes: those that are in it.
    """

    content: bytes
    changes: tuple[Change, ...]


def propose(content: bytes, changes: Sequence[Change], *, where: str, date: str, urls: Mapping[str, str]) -> Proposal:
    """Return the text with the changes that can be written: new torches, ROCm releases, pairs and Pythons.

    Args:
        content: the text as it is.
        changes: what was found.
        where: the file, for messages.
        date: month of today, e.g. ``2026-11``.
        urls: what each source's page is, by the source's name.

    Raises:
        InputError: the text is no ``compat.toml``, or laid out so that it cannot be changed line by line.
    """
    before = read_compat(content, where)
    wanted = _Rows(before, date, urls)
    written = [change for change in changes if wanted.take(change)]
    after = _rewritten(content.decode("utf-8"), wanted).encode()
    if read_compat(after, where) != wanted.result():
        what = "the file cannot be changed line by line: it is not laid out as rocmatrix writes it"
        raise InputError(
            what, where=where, fix="Begin each table with its [[name]] on a line of its own, a key a line."
        )
    return Proposal(content=after, changes=tuple(written))


class _Rows:
    """The rows that are added, by table, and the pairs that are confirmed."""

    def __init__(self, before: Compat, date: str, urls: Mapping[str, str]) -> None:
        self._before = before
        self._date = date
        self._urls = urls
        self.torches: list[TorchRelease] = []
        self.pythons: list[TorchPythons] = []
        self.releases: list[RocmRelease] = []
        self.pairs: list[PairRow] = []
        self.confirmed: dict[int, PairRow] = {}

    def take(self, change: Change) -> bool:
        """Add what a change says; return whether it can be written."""
        source = ", ".join(self._urls[name] for name in change.seen_in)
        if change.kind is ChangeKind.NEW_TORCH and change.torch and change.python:
            newest = self._before.torches[-1]
            guess = f"as for torch {newest.minor}, until somebody reads what its headers need"
            made = TorchRelease(minor=change.torch, cxx=newest.cxx, date=self._date, source=guess, verified=False)
            self.torches.append(made)
            self._add_pythons(change.torch, change.python, source)
            return True
        if change.kind is ChangeKind.NEW_PYTHON and change.torch:
            return self._add_pythons(change.torch, change.python, source)
        if change.kind is ChangeKind.NEW_ROCM and change.release and change.rocm and change.stream:
            own = "the release's own number, as for every release below 10; not read from a runtime"
            self.releases.append(
                RocmRelease(
                    release=change.release,
                    stream=change.stream,
                    hip=change.rocm,
                    date=self._date,
                    source=own,
                    verified=False,
                    assumed=True,
                )
            )
            return True
        if change.kind in {ChangeKind.NEW_PAIR, ChangeKind.CONFIRMED_PAIR} and change.torch and change.rocm:
            self._add_pair(change.torch, change.rocm, source, verified=change.evidence is Evidence.VERIFIED)
            return True
        return False

    def result(self) -> Compat:
        """Return what the new text must say."""
        before = self._before
        pairs = (self.confirmed.get(number, row) for number, row in enumerate(before.pairs))
        return replace(
            before,
            torches=(*before.torches, *self.torches),
            pythons=(*before.pythons, *self.pythons),
            releases=(*before.releases, *self.releases),
            pairs=(*pairs, *self.pairs),
        )

    def _add_pythons(self, torch: str, python: tuple[str, ...], source: str) -> bool:
        if self._before.pythons_of(torch):
            return False  # its row is there: which Pythons a release dropped or gained later, a person decides
        self.pythons.append(TorchPythons(torch=torch, python=python, date=self._date, source=source, verified=True))
        return True

    def _add_pair(self, torch: str, rocm: str, source: str, *, verified: bool) -> None:
        """Confirm the row that says it if all of that row was seen, else add a row of its own, which is read last."""
        self.pairs.append(PairRow(torch=torch, rocm=(rocm,), date=self._date, source=source, verified=verified))
        for number, row in enumerate(self._before.pairs):
            added = [made for made in self.pairs if made.torch == torch and made.verified and made.rocm[0] in row.rocm]
            if row.torch == torch and not row.verified and len(added) == len(row.rocm):
                self.confirmed[number] = replace(row, date=self._date, source=source, verified=True)
                self.pairs = [made for made in self.pairs if made not in added]


def _rewritten(text: str, rows: _Rows) -> str:
    lines = text.split("\n")
    for number, row in rows.confirmed.items():
        start = [n for n, line in enumerate(lines) if _table(line) == "pairs"][number : number + 1]
        for n in range(start[0] + 1, _end(lines, start[0])) if start else ():
            key = lines[n].partition("=")[0].strip()
            new = {"date": _toml(row.date), "source": _toml(row.source), "verified": "true"}.get(key)
            lines[n] = f"{key} = {new}" if new else lines[n]
    for table, made in (
        ("torches", [_block("torches", row) for row in rows.torches]),
        ("pythons", [_block("pythons", row) for row in rows.pythons]),
        ("releases", [_block("releases", row) for row in rows.releases]),
        ("pairs", [_block("pairs", row) for row in rows.pairs]),
    ):
        places = [n for n, line in enumerate(lines) if _table(line) == table]
        at = _end(lines, places[-1]) if places else len(lines)
        lines[at:at] = [line for block in made for line in ("", *block)]
    return "\n".join(lines)


def _table(line: str) -> str | None:
    found = _HEADER.fullmatch(line)
    return found[1] if found else None


def _end(lines: Sequence[str], start: int) -> int:
    """Return the number of the line after a table: an empty line, a comment or the next table."""
    for number in range(start + 1, len(lines)):
        if not lines[number].strip() or lines[number].lstrip().startswith(("#", "[")):
            return number
    return len(lines)


def _block(table: str, row: TorchRelease | TorchPythons | RocmRelease | PairRow) -> Iterable[str]:
    names = [name for name in row.__dataclass_fields__ if name not in {"date", "source", "verified"}]
    values = ((name, getattr(row, name)) for name in (*names, "date", "source", "verified"))
    return [f"[[{table}]]", *(f"{name} = {_toml(value)}" for name, value in values)]


def _toml(value: str | bool | tuple[str, ...]) -> str:  # noqa: FBT001 - the values of rows are strings, lists and booleans
    """Return a value as TOML; JSON writes strings of printable ASCII, which all of these are, the same way."""
    return json.dumps(value)
