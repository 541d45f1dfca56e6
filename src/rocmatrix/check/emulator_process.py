"""The process that runs numerical cases on the emulator: the author's cases and the built binary, apart from rocmatrix.

It is started with ``python -I`` on copies. A line of JSON goes to a file before a case begins and after it ended, so
that what a crash took with it is known.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from rocmatrix.cases import Array, Case
from rocmatrix.check.comparison import LARGEST, Comparison, compare
from rocmatrix.check.reader import CASES_NAME, import_file
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.host.arena import POISON
from rocmatrix.emulator.host.dtypes import as_bytes
from rocmatrix.emulator.host.host import Call, ExtensionError, Host
from rocmatrix.emulator.host.profiles import profile
from rocmatrix.emulator.reports import FaultError, UnsupportedError
from rocmatrix.errors import InputError, RocmatrixError
from rocmatrix.records import CaseResult

OUT_SUFFIX = "_out"


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
    """

    variant: str
    libraries: tuple[str, ...]
    tests: str
    cases: tuple[str, ...]
    device: str
    report: str
    code_cache: str | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the report.

    Attributes:
        began: the case that begins now.
        result: of a case that ended.
        unsupported: why nothing can be said of this variant: it needs what is not emulated.
    """

    began: str | None = None
    result: CaseResult | None = None
    unsupported: str | None = None


class _Difference(Exception):  # noqa: N818 - no error of ours: what a case came to
    """A case did not pass; the message says why."""


def main(job_file: str) -> None:
    """Run the cases of a job."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=Job)
    with Path(job.report).open("ab", buffering=0) as report:
        report.writelines(msgspec.json.encode(line) + b"\n" for line in _run(job))


def _run(job: Job) -> Iterator[Line]:
    tests = Path(job.tests)
    sys.path.insert(0, str(tests))
    cases: dict[str, Case] = {case.name: case for case in import_file(tests / CASES_NAME).CASES}
    yield Line(began=job.cases[0])
    try:
        host = _load(job)
        for name in job.cases:
            yield Line(began=name)
            yield Line(result=run_case(host, cases[name]))
    except RocmatrixError as err:
        yield Line(unsupported=_one_line(err))


def _load(job: Job) -> Host:
    return Host(
        Path(job.variant),
        [Path(path) for path in job.libraries],
        profile=profile(job.device),
        options=Options(),
        code_cache=Path(job.code_cache) if job.code_cache else None,
    )


def run_case(host: Host, case: Case) -> CaseResult:
    """Run a case through its operator and, where there is one, through the variant of it that writes into ``out``.

    Raises:
        UnsupportedError: it cannot be said whether the kernel is right.
    """
    started = time.monotonic()
    said = len(host.remarks)
    comparisons: list[Comparison] = []
    try:
        detail = _results(host, case, comparisons)
    except _Difference as difference:
        remarks = "; ".join(remark.replace("\n  ", " ") for remark in host.remarks[said:])
        detail = f"{difference}; the runtime said: {remarks}" if remarks else str(difference)
        return _result(case, comparisons, started, detail, passed=False)
    return _result(case, comparisons, started, detail, passed=True)


def _result(case: Case, comparisons: list[Comparison], started: float, detail: str, *, passed: bool) -> CaseResult:
    """A case that came to no numbers has the largest errors there are."""
    nothing = LARGEST if not comparisons else 0.0
    return CaseResult(
        case=case.name,
        passed=passed,
        max_abs_error=max((each.max_abs_error for each in comparisons), default=nothing),
        max_rel_error=max((each.max_rel_error for each in comparisons), default=nothing),
        seconds=round(time.monotonic() - started, 3),
        detail=detail,
    )


def _results(host: Host, case: Case, comparisons: list[Comparison]) -> str:
    """Run all operators of a case and return what is to be said of them."""
    arguments = case.make_arguments()
    want = case.reference(**arguments)
    call = _call(host, case.op, arguments)
    if len(call.outputs) != 1:
        raise UnsupportedError(f"cases of {case.op}, which returns {len(call.outputs)} tensors instead of one")
    got = call.outputs[0]
    _compare(case, case.op, got, want, comparisons)
    instructions, launches = call.instructions, len(call.launches)
    out_op = case.op + OUT_SUFFIX
    if out_op in host.schemas:
        call = _call(host, out_op, {**arguments, "out": _poisoned(got)})
        _compare(case, out_op, call.arguments["out"], want, comparisons)
        instructions += call.instructions
        launches += len(call.launches)
    return f"{comparisons[0].detail}; {launches} launches, {instructions} instructions"


def _call(host: Host, op: str, arguments: dict[str, Array]) -> Call:
    """Call an operator; whatever is wrong with that is a difference."""
    try:
        call = host.call(op, arguments)
    except ExtensionError as err:
        raise _Difference(f"{op} threw: {err}") from err
    except (FaultError, InputError) as err:
        raise _Difference(f"{op}: {_one_line(err)}") from err
    for name, before in arguments.items():
        after = call.arguments.get(name)
        if after is not None and name != "out" and not np.array_equal(as_bytes(before), as_bytes(after)):
            raise _Difference(f"{op} changed its argument {name}")
    return call


def _one_line(err: Exception) -> str:
    return str(err).replace("\n  ", " ")


def _compare(case: Case, op: str, got: Array, want: Array, comparisons: list[Comparison]) -> None:
    comparison = compare(got, want, rtol=case.rtol, atol=case.atol)
    comparisons.append(comparison)
    if not comparison.passed:
        raise _Difference(f"{op}: {comparison.detail}")


def _poisoned(like: Array) -> Array:
    """Return an array of the same shape and dtype whose every byte is a pattern."""
    return np.full(like.nbytes, POISON, np.uint8).view(like.dtype).reshape(like.shape)
