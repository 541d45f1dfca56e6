"""The processes that run the author's ``tests/cases.py``: one makes the inputs, one compares with the references.

They are started with ``python -I`` on copies, as the one that reads the cases, and see nothing of the container but
files whose form was checked. Inputs are made twice, by either process: the same seed makes the same ones, and no
process that a kernel shares can alter what its results are compared with.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rocmatrix.cases import Case, Layout
from rocmatrix.check.comparison import LARGEST, Comparison, compare
from rocmatrix.check.job import Line
from rocmatrix.check.on_gpu.answers import dtype_named, load
from rocmatrix.check.on_gpu.inside.wire import ORDER, Argument, Order, OrderedCase
from rocmatrix.check.on_gpu.jobs import ComparedCase, CompareJob, PrepareJob
from rocmatrix.check.reader import CASES_NAME, import_file
from rocmatrix.check.seeding import with_seed
from rocmatrix.records import CaseResult


class UnsupportedInputError(Exception):
    """An input cannot be handed to torch; the message says which and why."""


def prepare(job_file: str) -> None:
    """Write the inputs of a job's cases and the order for the container."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=PrepareJob)
    cases, folder = _cases(job.tests), Path(job.folder)
    ordered = tuple(
        _ordered(with_seed(cases[name], job.seed), number, folder, seconds)
        for number, (name, seconds) in enumerate(job.cases.items())
    )
    order = Order(device=job.device, cases=ordered, start_seconds=job.start_seconds, most_bytes=job.most_bytes)
    (folder / ORDER).write_bytes(msgspec.json.encode(order))


def compare_all(job_file: str) -> None:
    """Compare the results of a job's cases, and write a line for each."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=CompareJob)
    cases = _cases(job.tests)
    with Path(job.report).open("ab", buffering=0) as report:
        report.writelines(msgspec.json.encode(line) + b"\n" for line in _compared(job, cases))


def _cases(tests: str) -> dict[str, Case]:
    sys.path.insert(0, tests)
    return {case.name: case for case in import_file(Path(tests) / CASES_NAME).CASES}


def _ordered(case: Case, number: int, folder: Path, seconds: float) -> OrderedCase:
    arguments = []
    for place, (name, value) in enumerate(case.make_arguments().items()):
        if dtype_named(value.dtype.name) is None:
            raise UnsupportedInputError(f"case {case.name}: torch has no dtype for {name}, which is {value.dtype}")
        transposed = case.layouts.get(name, Layout.CONTIGUOUS) is Layout.TRANSPOSED
        file = f"{number}-{place}.bin"
        (folder / file).write_bytes((value.swapaxes(-1, -2) if transposed else value).tobytes())
        arguments.append(
            Argument(name=name, dtype=value.dtype.name, shape=value.shape, transposed=transposed, file=file)
        )
    return OrderedCase(name=case.name, op=case.op, arguments=tuple(arguments), seconds=seconds)


def _compared(job: CompareJob, cases: dict[str, Case]) -> Iterator[Line]:
    for each in job.cases:
        yield Line(began=each.name)
        case = with_seed(cases[each.name], job.seed)
        comparisons: list[Comparison] = []
        if each.results:
            want = case.reference(**case.make_arguments())
            comparisons = [
                compare(load(result, Path(job.results)), want, rtol=case.rtol, atol=case.atol)
                for result in each.results
            ]
        yield Line(result=_result(case, each, comparisons, _poison_of(comparisons)))


def _poison_of(comparisons: list[Comparison]) -> str:
    """Return what a difference between the calls means; ``""`` where there is none to explain."""
    passed = [each.passed for each in comparisons]
    if passed[:2] == [True, False]:
        return "; the first call was right: it works on another stream than the current one, or leaves memory unwritten"
    return ""


def _result(case: Case, each: ComparedCase, comparisons: list[Comparison], meaning: str) -> CaseResult:
    """Put together a case: wrong if anything is; one that came to no numbers has the largest errors there are."""
    said = list(each.wrong)
    for result, comparison in zip(each.results, comparisons, strict=True):
        if not comparison.passed:
            said.append(f"{result.call}: {comparison.detail}{meaning}")
            break
    nothing = LARGEST if not comparisons else 0.0
    fine = f"{comparisons[0].detail}; {len(comparisons)} calls on the GPU" if comparisons else "it came to no result"
    return CaseResult(
        case=case.name,
        passed=bool(comparisons) and not said,
        max_abs_error=max((one.max_abs_error for one in comparisons), default=nothing),
        max_rel_error=max((one.max_rel_error for one in comparisons), default=nothing),
        seconds=round(each.seconds, 3),
        detail="; ".join(said) or fine,
        share=min((one.share for one in comparisons), default=0.0),
        repeated=1 if len(comparisons) > 1 else 0,
    )
