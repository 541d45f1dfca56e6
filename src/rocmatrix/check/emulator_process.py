"""The process that runs numerical cases on the emulator: the author's cases and the built binary, apart from rocmatrix.

It is started with ``python -I`` on copies. A line of JSON goes to a file before a case begins and after it ended, so
that what a crash took with it is known; a line on the standard output says that there is one. An alarm of the operating
system ends the process in a case that takes too long: no code of a variant can hold that up.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from rocmatrix.cases import Array, Case
from rocmatrix.check.comparison import LARGEST, Comparison, compare
from rocmatrix.check.job import NEWS, Job, Line
from rocmatrix.check.reader import CASES_NAME, import_file
from rocmatrix.check.seeding import with_seed
from rocmatrix.check.variation import variations
from rocmatrix.emulator.delivery import Delivery
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.host.arena import POISON
from rocmatrix.emulator.host.dtypes import as_bytes
from rocmatrix.emulator.host.host import Call, ExtensionError, Host
from rocmatrix.emulator.host.profiles import profile
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, EXACT_MATRICES, Numerics
from rocmatrix.emulator.reports import Detector, Fault, FaultError, UnsupportedError
from rocmatrix.errors import InputError, RocmatrixError
from rocmatrix.records import CaseResult, KernelFinding

OUT_SUFFIX = "_out"


class _Difference(Exception):  # noqa: N818 - no error of ours: what a case came to
    """A case did not pass; the message says why."""


@dataclass(kw_only=True)
class _Seen:
    """What the calls of one case came to so far."""

    numerics: Numerics
    comparisons: list[Comparison] = field(default_factory=list)
    findings: dict[Fault, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    launches: int = 0
    instructions: int = 0
    repeated: int = 0
    dependences: list[str] = field(default_factory=list)

    def take(self, call: Call) -> None:
        """Add a call."""
        self.findings |= dict.fromkeys(call.findings)
        self.remarks |= dict.fromkeys(call.remarks)
        self.launches += len(call.launches)
        self.instructions += call.instructions


def main(job_file: str) -> None:
    """Run the cases of a job."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=Job)
    with Path(job.report).open("ab", buffering=0) as report:
        for line in _run(job):
            report.write(msgspec.json.encode(line) + b"\n")
            if line.result:
                os.write(1, f"\n{NEWS}\n".encode())


def _run(job: Job) -> Iterator[Line]:
    tests = Path(job.tests)
    sys.path.insert(0, str(tests))
    cases: dict[str, Case] = {case.name: case for case in import_file(tests / CASES_NAME).CASES}
    yield Line(began=job.cases[0])
    try:
        host = _load(job)
        for name in job.cases:
            yield Line(began=name)
            signal.setitimer(signal.ITIMER_REAL, job.limits.get(name, 0.0))
            numerics = EXACT_MATRICES if name in job.exact else DEFAULT_NUMERICS
            orders = job.seed if name in job.varied else None
            result = run_case(host, with_seed(cases[name], job.seed), numerics, orders=orders)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            yield Line(result=result)
    except InputError as err:
        yield Line(refused=(err.what, err.fix))
    except RocmatrixError as err:
        yield Line(unsupported=_one_line(err))


def _load(job: Job) -> Host:
    device = profile(job.device)
    return Host(
        Path(job.variant),
        [Path(path) for path in job.libraries],
        profile=device,
        options=Options(
            seed=job.seed,
            detectors=frozenset(map(Detector, job.detectors)),
            most_resident=device.compute_units,
            topology=device.topology,
        ),
        code_cache=Path(job.code_cache) if job.code_cache else None,
    )


def run_case(host: Host, case: Case, numerics: Numerics = DEFAULT_NUMERICS, *, orders: int | None = None) -> CaseResult:
    """Run a case through its operator and, where there is one, through the variant of it that writes into ``out``.

    Args:
        host: the loaded variant.
        case: what to run.
        numerics: arithmetic of matrix instructions.
        orders: seed of the orders in which it has run, to run it again in others; ``None`` to run it once.

    Raises:
        UnsupportedError: it cannot be said whether the kernel is right.
    """
    started = time.monotonic()
    said = len(host.remarks)
    seen = _Seen(numerics=numerics)
    try:
        detail = _results(host, case, seen, orders)
        passed = not seen.findings
    except _Difference as difference:
        remarks = "; ".join(remark.replace("\n  ", " ") for remark in host.remarks[said:])
        detail, passed = f"{difference}; the runtime said: {remarks}" if remarks else str(difference), False
    if seen.findings:
        first, *rest = seen.findings
        more = f" (and {len(rest)} more)" if rest else ""
        detail = f"{first}{more}; the numbers: {detail}"
    if told := [*seen.dependences, *seen.remarks]:
        detail += f"; {'; '.join(told)}"
    return _result(case, seen, started, detail, passed=passed)


def _result(case: Case, seen: _Seen, started: float, detail: str, *, passed: bool) -> CaseResult:
    """A case that came to no numbers has the largest errors there are."""
    nothing = LARGEST if not seen.comparisons else 0.0
    return CaseResult(
        case=case.name,
        passed=passed,
        max_abs_error=max((each.max_abs_error for each in seen.comparisons), default=nothing),
        max_rel_error=max((each.max_rel_error for each in seen.comparisons), default=nothing),
        seconds=round(time.monotonic() - started, 3),
        detail=detail,
        share=min((each.share for each in seen.comparisons), default=0.0),
        launches=seen.launches,
        instructions=seen.instructions,
        matrix=seen.numerics.matrix.value,
        findings=tuple(map(_finding, seen.findings)),
        repeated=seen.repeated,
        dependences=tuple(seen.dependences),
    )


def _finding(fault: Fault) -> KernelFinding:
    instruction = None if fault.instruction is None else str(fault.instruction)
    return KernelFinding(kind=fault.kind.value, kernel=fault.kernel, text=str(fault), instruction=instruction)


def _results(host: Host, case: Case, seen: _Seen, orders: int | None) -> str:
    """Run all operators of a case and return what is to be said of them."""
    arguments = case.make_arguments()
    want = case.reference(**arguments)
    call = _call(host, case.op, arguments, seen)
    if len(call.outputs) != 1:
        raise UnsupportedError(f"cases of {case.op}, which returns {len(call.outputs)} tensors instead of one")
    got = call.outputs[0]
    _compare(case, case.op, got, want, seen.comparisons)
    out_op = case.op + OUT_SUFFIX
    if out_op in host.schemas:
        call = _call(host, out_op, {**arguments, "out": _poisoned(got)}, seen)
        _compare(case, out_op, call.arguments["out"], want, seen.comparisons)
    if orders is not None:
        _vary(host, case, seen, (got, want), orders)
    return f"{seen.comparisons[0].detail}; {seen.launches} launches, {seen.instructions} instructions"


def _vary(host: Host, case: Case, seen: _Seen, results: tuple[Array, Array], orders: int) -> None:
    """Run a case again as a device may also run it; ``results`` are what it gave and what it should."""
    first, want = results

    def repeat(numerics: Numerics, seed: int, delivery: Delivery) -> Array:
        seen.repeated += 1
        arguments = case.make_arguments()
        return _call(host, case.op, arguments, seen, numerics=numerics, seed=seed, delivery=delivery).outputs[0]

    def judge(got: Array) -> Comparison:
        return compare(got, want, rtol=case.rtol, atol=case.atol)

    for found in variations(first, seen.numerics, orders, repeat=repeat, judge=judge):
        if found.wrong:
            raise _Difference(f"{case.op}: {found.remark}")
        seen.dependences.append(found.remark)


def _call(
    host: Host,
    op: str,
    arguments: dict[str, Array],
    seen: _Seen,
    *,
    numerics: Numerics | None = None,
    seed: int | None = None,
    delivery: Delivery = Delivery.EARLY,
) -> Call:
    """Call an operator; whatever is wrong with that is a difference."""
    undefined, numerics = frozenset({"out"}), numerics or seen.numerics
    try:
        call = host.call(op, arguments, undefined=undefined, numerics=numerics, seed=seed, delivery=delivery)
    except FaultError as err:
        seen.findings |= dict.fromkeys((err.fault, *err.findings))
        when = "" if delivery is Delivery.EARLY else " when loads arrive as late as its waits allow"
        raise _Difference(f"{op} came to no end{when}") from err
    except ExtensionError as err:
        raise _Difference(f"{op} threw: {err}") from err
    except InputError as err:
        raise _Difference(f"{op}: {_one_line(err)}") from err
    seen.take(call)
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
