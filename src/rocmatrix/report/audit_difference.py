"""What differs between two artifacts, for people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocmatrix.audit.difference import AuditDifference, FileDifference, KernelChange, ListChange
from rocmatrix.report.text import count, one_line, size

_MOST = 20
"""Entries of one list that are shown; ``--json`` has all of them."""


def show_difference(found: AuditDifference, console: Console) -> None:
    """Print what was and what is, file by file: ``-`` is gone, ``+`` is new."""
    console.print(Text(f"- {one_line(found.before)}", style="red"), soft_wrap=True)
    console.print(Text(f"+ {one_line(found.after)}", style="green"), soft_wrap=True)
    console.print()
    for mark, paths in (("-", found.removed), ("+", found.added)):
        _entries(mark, paths, console)
    for file in found.files:
        _file(file, console)
    for unread in found.unread:
        said = f"not compared: {one_line(unread.why)} (in {one_line(unread.side)})"
        console.print(Text(said, style="bold red"), soft_wrap=True)
    nothing = not (found.files or found.added or found.removed)
    what = "nothing differs" if nothing else f"{count(len(found.files), 'file')} of {found.compared} differ"
    if found.added or found.removed:
        what += f", {len(found.added)} added, {len(found.removed)} removed"
    if found.unread:
        what += f" as far as it can be read, {count(len(found.unread), 'file')} not compared"
    said = f"{what}; symbols, libraries, archs, kernels and sizes of {count(found.compared, 'pair')} were compared"
    console.print(Text(said, style="bold"), soft_wrap=True)


def _file(file: FileDifference, console: Console) -> None:
    name = file.after if file.after == file.before else f"{file.before} -> {file.after}"
    console.print(Text(one_line(name), style="bold"), soft_wrap=True)
    for value in file.values:
        before, after = value.before, value.after
        if value.name == "size":
            change = int(after) - int(before)
            before, after = size(int(before)), f"{size(int(after))} ({'+' if change > 0 else '-'}{size(abs(change))})"
        console.print(Text(f"  {value.name}: {one_line(before)} -> {one_line(after)}"), soft_wrap=True)
    for changed in file.lists:
        _list(changed, console)
    for kernel in file.kernels[:_MOST]:
        _kernel(kernel, console)
    if len(file.kernels) > _MOST:
        console.print(Text(f"  and {count(len(file.kernels) - _MOST, 'kernel')} more that changed", style="dim"))
    console.print()


def _list(changed: ListChange, console: Console) -> None:
    console.print(Text(f"  {changed.name}: {len(changed.removed)} gone, {len(changed.added)} new"), soft_wrap=True)
    for mark, entries in (("-", changed.removed), ("+", changed.added)):
        _entries(f"    {mark}", entries, console)


def _entries(mark: str, entries: tuple[str, ...], console: Console) -> None:
    style = "green" if mark.endswith("+") else "red"
    for entry in entries[:_MOST]:
        console.print(Text(f"{mark} {one_line(entry)}", style=style), soft_wrap=True)
    if len(entries) > _MOST:
        console.print(Text(f"{mark} and {len(entries) - _MOST} more", style=style))


def _kernel(kernel: KernelChange, console: Console) -> None:
    values = ", ".join(f"{value.name} {value.before} -> {value.after}" for value in kernel.values)
    console.print(Text(f"  kernel {one_line(kernel.kernel)} for {kernel.arch}: {values}"), soft_wrap=True)
