"""Wheels that were made, for people and as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from rocmatrix.report.text import count, one_line, size
from rocmatrix.wheel.stage import MadeWheel


@dataclass(frozen=True, kw_only=True)
class WheelsDocument:
    """What ``rocmatrix wheel --json`` prints."""

    wheels: tuple[MadeWheel, ...]


def show_wheels(wheels: Sequence[MadeWheel], console: Console) -> None:
    """Print where each wheel is, and how pip is asked for it."""
    for wheel in wheels:
        console.print(f"{one_line(wheel.path)}  {size(wheel.size)}", soft_wrap=True, markup=False, highlight=False)
        console.print(f"  pip install '{one_line(wheel.requirement)}'", soft_wrap=True, markup=False, highlight=False)
    console.print(f"{count(len(wheels), 'wheel')} made", soft_wrap=True)
