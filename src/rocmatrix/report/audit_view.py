"""What an audit found, for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rocmatrix.audit.content_facts import SignatureFacts, SignatureState
from rocmatrix.audit.kernel_audit import AuditSet
from rocmatrix.audit.path import PathAudit
from rocmatrix.records import BinaryFacts, DeviceFileFacts, Finding, Outcome, Severity, WaivedFinding
from rocmatrix.report.kernel_table import kernel_rows, show_kernels
from rocmatrix.report.text import count, one_line, size

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_MOST_PLACES = 5
"""Places of one finding that are shown."""


def show_audit_set(audited: AuditSet, console: Console, *, brief: bool = False) -> None:
    """Print each audit, and a verdict of all where there are several; ``brief``: findings and verdicts only."""
    for number, one in enumerate(audited.audits):
        if number and not brief:
            console.print()
        show_path_audit(one, console, brief=brief)
    if len(audited.audits) > 1:
        failed = sum(one.outcome is Outcome.FAILED for one in audited.audits)
        said = f"audit {one_line(audited.path)}: {count(len(audited.audits), 'variant')}, {failed} failed"
        console.print(Text(said, style="bold red" if failed else "bold green"), soft_wrap=True)


def show_path_audit(audited: PathAudit, console: Console, *, brief: bool = False) -> None:
    """Print a line for each shared object, its kernels, the findings by rule, and the verdict."""
    if not brief and (audited.binaries or audited.device_files):
        console.print(Text(one_line(audited.path), style="bold"), soft_wrap=True)
        _show_binaries(audited, console)
        _show_kernels(audited, console)
    if not brief and audited.signature is not None:
        console.print(Text(f"signature: {_signature(audited.signature)}"), soft_wrap=True)
        console.print()
    for finding in grouped(audited.findings):
        show_finding(dataclasses.replace(finding, where=_place(audited, finding.where)), console)
    for waived in audited.waived:
        show_waived(waived, console)
    style = "bold green" if audited.outcome is Outcome.PASSED else "bold red"
    said = f"audit {one_line(audited.path)}: {audited.outcome.value}: {counts(audited.findings, audited.waived)}"
    console.print(Text(f"{said} by {count(len(audited.rules), 'rule')}", style=style), soft_wrap=True)


def _signature(found: SignatureFacts) -> str:
    by = f", by {one_line(found.signer)}" if found.signer else ""
    known = " (not verified here)" if found.state is SignatureState.PRESENT else ""
    trust = f" ({one_line(found.trust)})" if found.trust else known
    return f"{found.state.value}{by}{trust}"


def counts(findings: Sequence[Finding], waived: Sequence[WaivedFinding] = ()) -> str:
    """Return how many findings there are of each severity: ``0 errors, 2 warnings, 1 note, 1 waived``."""
    numbers = {severity: sum(found.severity is severity for found in findings) for severity in Severity}
    words = [count(numbers[Severity.ERROR], "error"), count(numbers[Severity.WARNING], "warning")]
    words += [count(numbers[Severity.NOTE], "note")] if numbers[Severity.NOTE] else []
    return ", ".join([*words, *([f"{len(waived)} waived"] if waived else [])])


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with those that differ in their place only put together, errors first, else in their order."""
    places: dict[Finding, list[str]] = {}
    for finding in findings:
        places.setdefault(dataclasses.replace(finding, where=""), []).append(finding.where)
    together = [dataclasses.replace(finding, where=_together(found)) for finding, found in places.items()]
    return sorted(together, key=lambda finding: _ORDER[finding.severity])


def _together(places: list[str]) -> str:
    more = f" and {len(places) - _MOST_PLACES} more places" if len(places) > _MOST_PLACES else ""
    return "; ".join(places[:_MOST_PLACES]) + more


def show_finding(finding: Finding, console: Console) -> None:
    """Print one finding: what, where, what to do, and where the limit comes from."""
    head = Text.assemble(
        (f"{finding.severity.value}[{one_line(finding.rule)}]", _STYLES[finding.severity]),
        f": {one_line(finding.what)}",
    )
    console.print(head, soft_wrap=True)
    for name, value in (("in", finding.where), ("fix", finding.fix), ("source", finding.source)):
        console.print(Text(f"  {name + ':':<7} {one_line(value)}"), soft_wrap=True)
    console.print()


def show_waived(waived: WaivedFinding, console: Console) -> None:
    """Print a finding that is not held against the unit, and why."""
    finding = waived.finding
    head = Text.assemble((f"waived[{one_line(finding.rule)}]", "dim"), f": {one_line(finding.what)}")
    console.print(head, soft_wrap=True)
    for name, value in (("in", finding.where), ("reason", f"{waived.reason} ({waived.waiver})")):
        console.print(Text(f"  {name + ':':<7} {one_line(value)}"), soft_wrap=True)
    console.print()


def _place(audited: PathAudit, where: str) -> str:
    return str(Path(audited.prefix) / where)


def _show_binaries(audited: PathAudit, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("file", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    for name in ("archs", "symbol versions", "needs"):
        table.add_column(name, overflow="fold")
    for binary in audited.binaries:
        table.add_row(*(Text(one_line(cell)) for cell in _binary_cells(binary)))
    for file in audited.device_files:
        codes = [*file.code_objects, *(code for bundle in file.bundles for code in bundle.code_objects)]
        archs = " ".join(sorted({code.arch or code.elf_arch or "?" for code in codes}))
        table.add_row(*(Text(one_line(cell)) for cell in (file.path, size(file.size), archs, "", "GPU code alone")))
    console.print(table)


def _binary_cells(binary: BinaryFacts) -> tuple[str, ...]:
    versions = ", ".join(f"{family} {version}" for family, version in binary.highest.items())
    return (
        binary.path,
        size(binary.size),
        " ".join(binary.archs) or "none: no device code",
        versions or "none",
        " ".join(binary.needed) or "no library",
    )


def _show_kernels(audited: PathAudit, console: Console) -> None:
    files: list[BinaryFacts | DeviceFileFacts] = [*audited.binaries, *audited.device_files]
    for file in files:
        rows = list(kernel_rows(file.bundles, file.code_objects))
        if rows:
            console.print()
            if len(files) > 1:
                console.print(Text(one_line(file.path)), soft_wrap=True)
            show_kernels(rows, console)
    console.print()
