"""Which published variants load on a torch, for people and as annotations."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocmatrix.releasing.load_model import Loaded, LoadReport, LoadState
from rocmatrix.report.text import count, one_line
from rocmatrix.report.workflow_commands import error_annotation

_STYLES = {
    LoadState.LOADED: "green",
    LoadState.FAILED: "bold red",
    LoadState.UNDECIDED: "yellow",
    LoadState.PASSED_OVER: "yellow",
}


def show_loads(report: LoadReport, console: Console) -> None:
    """Print a line for each variant, and one for all: on which torch, with which HIP runtime."""
    for each in report.variants:
        line = f"load {one_line(each.variant)}: {each.state}{_more(each)}"
        console.print(Text(line, style=_STYLES[each.state]), soft_wrap=True)
    loaded = len(report.in_state(LoadState.LOADED))
    own = f"ROCm {one_line(report.rocm)}" if report.rocm else "a build without ROCm"
    said = f"{count(loaded, 'variant')} of {len(report.variants)} loaded on torch {one_line(report.torch)}, {own}"
    console.print(Text(f"{said}; nothing was launched"), soft_wrap=True)


def load_annotations(report: LoadReport) -> list[str]:
    """Return one workflow command for each variant that does not load."""
    return [
        error_annotation(f"{each.variant} does not load on torch {report.torch}: {each.said}", title="verify --load")
        for each in report.in_state(LoadState.FAILED)
    ]


def _more(each: Loaded) -> str:
    if each.state is not LoadState.LOADED:
        return f": {one_line(each.said)}"
    runtime = {"own": "this machine's HIP runtime", "stand-in": "a stand-in for HIP", "none": "no HIP runtime"}
    names = ", ".join(one_line(name) for name in each.operators) or "no operators"
    return f" ({names}; {runtime.get(each.hip, one_line(each.hip))})"
