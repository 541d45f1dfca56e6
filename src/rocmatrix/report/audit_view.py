"""What an audit found, for people."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rocmatrix.audit.path import PathAudit
from rocmatrix.records import BinaryFacts, Finding, Outcome, Severity
from rocmatrix.report.text import count, one_line


def show_path_audit(audited: PathAudit, console: Console) -> None:
    """Print the facts of each shared object, every finding, and the verdict."""
    for binary in audited.binaries:
        _show_facts(binary, console)
    for finding in audited.findings:
        show_finding(dataclasses.replace(finding, where=_place(audited, finding)), console)
    errors = sum(finding.severity is Severity.ERROR for finding in audited.findings)
    warnings = len(audited.findings) - errors
    verdict = f"{audited.outcome.value}: {count(errors, 'error')}, {count(warnings, 'warning')}"
    style = "bold green" if audited.outcome is Outcome.PASSED else "bold red"
    said = f"audit {one_line(audited.path)}: {verdict} by {count(len(audited.rules), 'rule')}"
    console.print(Text(said, style=style), soft_wrap=True)


def show_finding(finding: Finding, console: Console) -> None:
    """Print one finding: what, where, what to do, and where the limit comes from."""
    style = "bold red" if finding.severity is Severity.ERROR else "yellow"
    head = Text.assemble((f"{finding.severity.value}[{one_line(finding.rule)}]", style), f": {one_line(finding.what)}")
    console.print(head, soft_wrap=True)
    for name, value in (("in", finding.where), ("fix", finding.fix), ("source", finding.source)):
        console.print(Text(f"  {name + ':':<7} {one_line(value)}"), soft_wrap=True)
    console.print()


def _place(audited: PathAudit, finding: Finding) -> str:
    path = Path(audited.path)
    return str((path if path.is_dir() else path.parent) / finding.where)


def _show_facts(binary: BinaryFacts, console: Console) -> None:
    console.print(Text(one_line(binary.path), style="bold"))
    versions = ", ".join(f"{family} {version}" for family, version in binary.highest.items())
    facts = (
        ("archs", " ".join(binary.archs) or "none: no device code"),
        ("needs", " ".join(binary.needed) or "no library"),
        ("versions", versions or "none"),
        ("exports", count(len(binary.exports), "symbol")),
    )
    for name, value in facts:
        console.print(Text(f"  {name:<9} {one_line(value)}"), soft_wrap=True)
    console.print()
