"""What a check and its processes tell each other: a job in a file, lines of JSON in another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocmatrix.emulator.reports import ALL_DETECTORS
from rocmatrix.records import CaseResult

NEWS = "rocmatrix: a line was added to the report"
"""What the process prints after each result."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one process does.

    Attributes:
        variant: path of the shared object.
        libraries: stand-ins, in the order of loading.
        tests: folder with ``cases.py``.
        cases: names of the cases to run, in this order.
        device: which profile the runtime plays.
        report: file that lines are written to.
        code_cache: folder for translated code; ``None`` for the reference interpreter.
        seed: what random inputs, and orders of workgroups and waves, begin with.
        limits: seconds that each case may take, by name.
        exact: names of the cases whose matrix instructions are executed in exact arithmetic.
        varied: names of the cases that run again in other orders and with other approximations.
        detectors: what is looked for beside wrong numbers.
    """

    variant: str
    libraries: tuple[str, ...]
    tests: str
    cases: tuple[str, ...]
    device: str
    report: str
    code_cache: str | None = None
    seed: int = 0
    limits: Mapping[str, float] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()
    detectors: tuple[str, ...] = tuple(sorted(ALL_DETECTORS))


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the report.

    Attributes:
        began: the case that begins now.
        result: of a case that ended.
        unsupported: why nothing can be said of this variant: it needs what is not emulated.
        refused: what is wrong with the variant's file, and what to do about it.
    """

    began: str | None = None
    result: CaseResult | None = None
    unsupported: str | None = None
    refused: tuple[str, str | None] | None = None
