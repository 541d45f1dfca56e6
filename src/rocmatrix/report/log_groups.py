"""Groups of a GitHub Actions log: long texts that are folded until somebody opens them.

Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands, "Grouping log lines".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from rocmatrix.events import Stage, State
from rocmatrix.report.subject import Subject
from rocmatrix.report.text import one_line, visible
from rocmatrix.report.workflow_commands import guarded, in_actions
from rocmatrix.store import Store

_LARGEST = 256 << 10
"""Characters of one log that are shown, its end; the whole of it is in the artifact."""


@contextmanager
def group(title: str, console: Console) -> Iterator[None]:
    """Fold what is printed within the block, in a job of GitHub Actions."""
    folded = in_actions()
    if folded:
        console.print(f"::group::{one_line(title)}", soft_wrap=True)
    try:
        yield
    finally:
        if folded:
            console.print("::endgroup::")


def show_build_logs(subject: Subject, console: Console) -> None:
    """Print the log of each unit that was built now, each in a group, and no line of it as a command."""
    store = Store(subject.options.out)
    for unit, row in subject.board.rows.items():
        view = row.stages.get(Stage.BUILD)
        if view is None or view.state not in {State.DONE, State.FAILED}:
            continue
        try:
            text = store.build_log(unit).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # a build that ended before its first command has none
        with group(f"build.log of {unit}", console):
            console.print(guarded(visible(text[-_LARGEST:].rstrip("\n"))), soft_wrap=True)
