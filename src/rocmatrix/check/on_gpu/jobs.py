"""What the processes that run ``tests/cases.py`` are told to do, before the GPU and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocmatrix.check.on_gpu.inside.wire import CallResult


@dataclass(frozen=True, kw_only=True)
class PrepareJob:
    """Make the inputs of cases.

    Attributes:
        tests: folder with ``cases.py``.
        folder: that inputs and the order are written to.
        device: kind of torch's device.
        cases: name -> seconds that it may take, in the order in which they run.
        seed: what random inputs begin with; 0 for the cases' own seeds.
        start_seconds: that loading torch and the kernel may take.
        most_bytes: of one result.
    """

    tests: str
    folder: str
    device: str
    cases: Mapping[str, float]
    seed: int
    start_seconds: float
    most_bytes: int


@dataclass(frozen=True, kw_only=True)
class ComparedCase:
    """One case that ran: its calls, what is wrong with it anyhow, and its seconds on the GPU's side."""

    name: str
    results: tuple[CallResult, ...]
    wrong: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class CompareJob:
    """Compare results with references.

    Attributes:
        tests: folder with ``cases.py``.
        results: folder with the files of the calls.
        report: file that lines are written to.
        cases: in their order.
        seed: as in ``PrepareJob``.
    """

    tests: str
    results: str
    report: str
    cases: tuple[ComparedCase, ...]
    seed: int
