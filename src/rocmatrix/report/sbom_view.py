"""Bills of materials that were written, for people and as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from rocmatrix.report.text import count, one_line
from rocmatrix.sbom.stage import WrittenBill


@dataclass(frozen=True, kw_only=True)
class BillsDocument:
    """What ``rocmatrix sbom --json`` prints."""

    bills: tuple[WrittenBill, ...]


def show_bills(bills: Sequence[WrittenBill], console: Console) -> None:
    """Print where each bill is."""
    for bill in bills:
        line = f"{one_line(bill.kernel)}: {count(bill.variants, 'variant')} in {one_line(bill.path)}"
        console.print(line, soft_wrap=True, markup=False, highlight=False)
