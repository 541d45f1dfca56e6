"""Findings as SARIF 2.1.0, which GitHub code scanning and editors read.

Format: Static Analysis Results Interchange Format 2.1.0 (OASIS, errata 01); what GitHub asks for beyond it: "SARIF
support for code scanning" in its documentation. A binary has no lines, so that findings in one are put at its first;
the place within it is in the message and in the logical location. Waived findings are results with a suppression.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

import rocmatrix
from rocmatrix import atomic, digest
from rocmatrix.audit.rules import OTHER_RULES, RULES
from rocmatrix.errors import InputError
from rocmatrix.records import Finding, Severity, WaivedFinding
from rocmatrix.report.text import visible

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 5000
"""Results that GitHub shows of one run; of more than that, errors are kept first and the rest is left out."""

_REST = re.compile(r"(?::(?P<line>[0-9]+))?(?::\s*(?P<inside>.*))?", re.DOTALL)
_ESCAPED_BYTE = re.compile(r"\\u(dc[89a-f][0-9a-f])")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Something that was audited, and what was found.

    Attributes:
        name: id of the unit or path, for messages and fingerprints.
        folder: what paths in findings are relative to.
    """

    name: str
    folder: Path
    findings: tuple[Finding, ...]
    waived: tuple[WaivedFinding, ...] = ()


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A JSON object with keys in camelCase."""


class _Text(_Part, frozen=True, kw_only=True):
    text: str


class _Descriptor(_Part, frozen=True, kw_only=True):
    id: str
    short_description: _Text
    help: _Text


class _Driver(_Part, frozen=True, kw_only=True):
    name: str
    semantic_version: str
    rules: tuple[_Descriptor, ...]


class _Tool(_Part, frozen=True, kw_only=True):
    driver: _Driver


class _Artifact(_Part, frozen=True, kw_only=True):
    uri: str


class _Region(_Part, frozen=True, kw_only=True):
    start_line: int


class _Physical(_Part, frozen=True, kw_only=True):
    artifact_location: _Artifact
    region: _Region


class _Logical(_Part, frozen=True, kw_only=True):
    fully_qualified_name: str


class _Location(_Part, frozen=True, kw_only=True):
    physical_location: _Physical
    logical_locations: tuple[_Logical, ...] = ()


class _Suppression(_Part, frozen=True, kw_only=True):
    kind: str
    status: str
    justification: str


class _Result(_Part, frozen=True, kw_only=True):
    rule_id: str
    rule_index: int
    level: str
    message: _Text
    locations: tuple[_Location, ...]
    partial_fingerprints: dict[str, str]
    suppressions: tuple[_Suppression, ...] = ()


class _Run(_Part, frozen=True, kw_only=True):
    tool: _Tool
    results: tuple[_Result, ...]
    column_kind: str


class _Log(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = msgspec.field(name="$schema")
    version: str
    runs: tuple[_Run, ...]


_SUMMARIES: dict[str, str] = {**{rule.id: rule.summary for rule in RULES}, **OTHER_RULES}
_INDEX = {rule: index for index, rule in enumerate(_SUMMARIES)}


def sarif(subjects: Iterable[Subject], base: Path) -> bytes:
    """Return the SARIF log of audits.

    Args:
        subjects: what was audited.
        base: folder that places are written relative to: the top of the repository.
    """
    results: list[_Result] = []
    for subject in subjects:
        results += [_result(subject, finding, base) for finding in subject.findings]
        results += [_waived(subject, waived, base) for waived in subject.waived]
    rules = tuple(
        _Descriptor(id=rule, short_description=_Text(text=summary), help=_Text(text=f"docs/audit.md tells of {rule}."))
        for rule, summary in _SUMMARIES.items()
    )
    driver = _Driver(name="rocmatrix", semantic_version=rocmatrix.__version__, rules=rules)
    run = _Run(tool=_Tool(driver=driver), results=tuple(_bounded(results)), column_kind="unicodeCodePoints")
    log = _Log(schema=SCHEMA_URI, version="2.1.0", runs=(run,))
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def write_sarif(path: Path, subjects: Iterable[Subject], base: Path) -> None:
    """Write the SARIF log of audits to a file.

    Raises:
        InputError: the file cannot be written.
    """
    require_place(path)
    try:
        atomic.write_file(path, sarif(subjects, base))
    except OSError as err:
        raise InputError(f"the file cannot be written: {err.strerror}", where=str(path), fix=_FIX) from err


def require_place(path: Path) -> None:
    """Refuse a path where no log can be written, before the work of an audit is done.

    Raises:
        InputError: it is a folder, or the folder that it should be in is not there.
    """
    if path.is_dir():
        raise InputError("this is a folder, and the log is a file", where=str(path), fix="Name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", where=str(path), fix=_FIX)


_FIX = "Make the folder first, or name a file in another one."


def _bounded(results: Sequence[_Result]) -> Sequence[_Result]:
    """Return at most as many results as are shown, errors first where some must be left out."""
    if len(results) <= MOST_RESULTS:
        return results
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(results, key=lambda result: order[result.level])[:MOST_RESULTS]


def _result(subject: Subject, finding: Finding, base: Path, suppressions: tuple[_Suppression, ...] = ()) -> _Result:
    message = f"{finding.what}. {finding.fix} (in {subject.name}: {finding.where}; limit: {finding.source})"
    identity = f"{finding.rule}\n{subject.name}\n{finding.where}\n{finding.what}".encode("utf-8", "backslashreplace")
    return _Result(
        rule_id=finding.rule,
        rule_index=_INDEX[finding.rule],
        level={Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}[finding.severity],
        message=_Text(text=visible(message)),
        locations=(_location(subject, finding, base),),
        partial_fingerprints={"rocmatrix/v1": digest.of_bytes(identity).removeprefix("sha256:")},
        suppressions=suppressions,
    )


def _waived(subject: Subject, waived: WaivedFinding, base: Path) -> _Result:
    justification = visible(f"{waived.reason} ({waived.waiver})")
    suppression = _Suppression(kind="external", status="accepted", justification=justification)
    return _result(subject, waived.finding, base, (suppression,))


def _location(subject: Subject, finding: Finding, base: Path) -> _Location:
    named, rest = _placed(base if finding.rule == "waivers" else _real(subject.folder), finding.where)
    found = _REST.fullmatch(rest)
    line, inside = (found["line"], found["inside"]) if found else (None, rest)
    logical = (_Logical(fully_qualified_name=visible(inside)),) if inside else ()
    return _Location(
        physical_location=_Physical(
            artifact_location=_Artifact(uri=_uri(named, base)),
            region=_Region(start_line=max(1, int((line or "1")[:9]))),
        ),
        logical_locations=logical,
    )


def _placed(folder: Path, where: str) -> tuple[Path, str]:
    """Return the file that a finding is in, and what its place says beyond that.

    A name may have colons itself, so the longest beginning that is there counts; without any, the first colon ends it.
    """
    ends = [len(where), *(found.start() for found in reversed(list(re.finditer(":", where))))]
    for end in ends:
        path = _real(folder / where[:end])
        if end and os.path.lexists(path):
            return path, where[end:]
    return _real(folder / where[: ends[-1]]), where[ends[-1] :]


def _real(path: Path) -> Path:
    r"""Return a path as the disk has it: findings write bytes that are not UTF-8 as ``\udcff``."""
    if os.path.lexists(path):
        return path
    return Path(_ESCAPED_BYTE.sub(lambda found: chr(int(found[1], 16)), str(path)))


def _uri(path: Path, base: Path) -> str:
    """Return a path below the base as a URI reference relative to it, and any other one as an absolute URI."""
    whole, top = Path(os.path.abspath(path)), Path(os.path.abspath(base))  # noqa: PTH100 - removes .. as well
    if not whole.is_relative_to(top):
        return whole.as_uri()
    text = os.fsencode(whole.relative_to(top))
    return quote(text) if text != b"." else "./"
