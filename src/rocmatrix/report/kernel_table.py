"""The kernels in a binary: registers, memory, occupancy and what the hot loop does; no figure is ever cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rocmatrix.binary.facts import Bundle, CodeObject
from rocmatrix.binary.kernel_facts import InstructionMix, Kernel
from rocmatrix.report.text import count, one_line

MOST_ROWS = 40
"""Kernels that are shown; ``--json`` has all of them."""
_NAME = 34
"""Columns of a kernel's name."""
_LOOP = 22
"""Columns that the mix of a hot loop is given at least: two of its parts side by side."""
_UNBOUNDED = 10_000
"""Columns to measure a table in."""
_HEAD = 12
"""Characters of a long name that are shown of what all names begin with."""


def kernel_rows(bundles: Sequence[Bundle], codes: Sequence[CodeObject]) -> Iterator[tuple[CodeObject, Kernel]]:
    """Give each kernel with its code object, out of bundles and by itself."""
    for bundle in bundles:
        yield from ((code, kernel) for code in bundle.code_objects for kernel in code.kernels)
    yield from ((code, kernel) for code in codes for kernel in code.kernels)


def show_kernels(rows: Sequence[tuple[CodeObject, Kernel]], console: Console) -> None:
    """Print kernels: as a table, or each in words of its own where the console is too narrow for a table's figures."""
    figures = _table(rows)
    needed = console.measure(figures, options=console.options.update(width=_UNBOUNDED)).maximum + _LOOP
    if needed <= console.width:
        console.print(_table(rows, loops=True))
        return
    for code, kernel in rows[:MOST_ROWS]:
        console.print(Text(one_line(kernel.name), overflow="fold"))
        for line in _in_words(code, kernel):
            console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, 2)))
    if (hidden := len(rows) - MOST_ROWS) > 0:
        console.print(Text(f"and {count(hidden, 'kernel')} more", style="dim"))


def _in_words(code: CodeObject, kernel: Kernel) -> Iterator[str]:
    """Give what a row of the table says, with the headings beside the figures."""
    gfx, vgprs, agprs, sgprs, spills, lds, scratch, waves, loop = _cells(code, kernel)
    yield f"{gfx}: {vgprs} VGPR, {agprs} AGPR, {sgprs} SGPR, spills {spills}, LDS {lds}, scratch {scratch}"
    yield f"waves/SIMD {waves}; hot loop: {loop}"


def _table(rows: Sequence[tuple[CodeObject, Kernel]], *, loops: bool = False) -> Table:
    """Return the table, with or without its last column, the only one that may be folded.

    Spills are vector and scalar registers together, sizes are bytes.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("kernel", no_wrap=True, overflow="ellipsis", max_width=_NAME)
    table.add_column("gfx", no_wrap=True)
    for name in ("VGPR", "AGPR", "SGPR", "spills", "LDS", "scratch"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("waves/SIMD", no_wrap=True)
    if loops:
        table.add_column("hot loop", overflow="fold")
    common = _common([kernel.name for _, kernel in rows[:MOST_ROWS]])
    for code, kernel in rows[:MOST_ROWS]:
        cells = (_shown(kernel.name, common), *_cells(code, kernel))
        table.add_row(*(Text(cell) for cell in cells[: len(table.columns)]))
    if (hidden := len(rows) - MOST_ROWS) > 0:
        table.add_row(Text(f"and {count(hidden, 'kernel')} more", style="dim"))
    return table


def _common(names: Sequence[str]) -> int:
    """Return how many characters all names begin with; 0 for a lone name."""
    if len(set(names)) < 2:  # noqa: PLR2004 - nothing to be told apart
        return 0
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _shown(name: str, common: int) -> str:
    """Return a name of which the columns show what tells it from the others: mangled names begin alike."""
    whole = one_line(name)
    return whole if len(whole) <= _NAME or common <= _HEAD else f"{whole[:_HEAD]}…{whole[common:]}"


def _cells(code: CodeObject, kernel: Kernel) -> tuple[str, ...]:
    spills = [found for found in (kernel.vgpr_spills, kernel.sgpr_spills) if found is not None]
    return (
        code.arch or code.elf_arch or "?",
        str(kernel.vgprs),
        "?" if kernel.agprs is None else str(kernel.agprs),
        str(kernel.sgprs),
        str(sum(spills)) if spills else "?",
        str(kernel.lds),
        str(kernel.scratch),
        f"{kernel.occupancy.waves_per_simd} by {kernel.occupancy.limit}" if kernel.occupancy else "?",
        _loop(kernel),
    )


def _loop(kernel: Kernel) -> str:
    if kernel.hot_loop is not None:
        return mix_in_words(kernel.hot_loop.mix)
    return "no loop" if kernel.instructions is not None else "not read"


def mix_in_words(mix: InstructionMix) -> str:
    """Return the instruction mix as people say it; what is not there is left out."""
    parts = (
        (sum(mix.matrix.values()), "MFMA", "MFMA"),
        (mix.valu, "VALU", "VALU"),
        (mix.lds, "LDS", "LDS"),
        (mix.vmem, "VMEM", "VMEM"),
        (mix.barriers, "barrier", "barriers"),
        (mix.waits, "wait", "waits"),
    )
    return ", ".join(count(number, one, many) for number, one, many in parts if number) or "nothing of note"
