"""The emulator's two executors on this repository's GEMM: seconds, and their ratio within one run.

``python benchmarks/emulator_speed.py`` needs the package with its extra ``embedded`` and the repository's tests beside
it. Every result is checked: both executors must give the same bits, and the large product must be in tolerance. It
fails if translated code is not at least 20 times as fast as the reference, slower than 1 GFLOP/s on one core, or if the
detectors of races or of what was never written speak, or make it more than three times or twice as slow.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ml_dtypes
import numpy as np
from tests.system import emulator_gemm
from tests.system.emulator_compiler import compile_gemm

from rocmatrix.cases import Array, Case, Factory, Layout
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Device, Execution, Options
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.numerics import EXACT_MATRICES
from rocmatrix.emulator.reports import Detector
from rocmatrix.emulator.translator.program import Translator

SMALL, LARGE = (128, 128, 512), (512, 1536, 7168)
"""M, N, K: what the reference can do in seconds, and the largest of the contest's test shapes."""
REPEATS = 5
"""Launches of the small product by translated code: it takes milliseconds."""
LEAST_RATIO, LEAST_GFLOPS = 20.0, 1.0
FOLLOWED = (512, 1536, 1024)
"""M, N, K of the product with and without a detector."""
MOST_SLOWER = {Detector.RACES: 3.0, Detector.UNWRITTEN: 2.0}
"""How much longer it may take with a detector."""
BLOCK = 128


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One launch: seconds of processor and of wall time without making its inputs, what it computed."""

    cpu: float
    wall: float
    result: Array
    execution: Execution


def case_of(m: int, n: int, k: int) -> Case:
    """Return a product of standard normal values with standard normal scales, b transposed."""

    def codes(*shape: int) -> Factory:
        return lambda random: random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fnuz)

    def scales(*shape: int) -> Factory:
        return lambda random: random.standard_normal(shape).astype(np.float32)

    return Case(
        name=f"{m}x{n}x{k}",
        arguments={
            "a": codes(m, k),
            "b": codes(k, n),
            "a_scale": scales(k // BLOCK, m),
            "b_scale": scales(k // BLOCK, -(-n // BLOCK)),
        },
        layouts={"b": Layout.TRANSPOSED},
        reference=product,
        rtol=2e-2,
        atol=1e-3,
        cost=2 * m * n * k,
        op="gemm",
    )


def product(a: Array, b: Array, a_scale: Array, b_scale: Array) -> Array:
    """Return the scaled product in float64."""
    result = np.zeros((a.shape[0], b.shape[1]))
    for block, (rows, columns) in enumerate(zip(a_scale, b_scale, strict=True)):
        k = slice(block * BLOCK, (block + 1) * BLOCK)
        part = a[:, k].astype(np.float64) @ b[k].astype(np.float64)
        result += rows[:, None] * np.repeat(columns, BLOCK)[None, : b.shape[1]] * part
    return result


class TimedDevice(Device):
    """A device that measures its launches: seconds of processor and of wall time."""

    cpu = wall = 0.0

    def launch(self, *arguments: Any, **options: Any) -> Execution:  # noqa: ANN401 - passed on as they are
        """Launch, and look at the clocks."""
        cpu, wall = time.process_time(), time.perf_counter()
        execution = super().launch(*arguments, **options)
        self.cpu, self.wall = time.process_time() - cpu, time.perf_counter() - wall
        return execution


def measure(
    code: CodeObject, case: Case, program: Callable[[Memory, str], Program], options: Options | None = None
) -> Measured:
    """Launch a case."""
    device = TimedDevice(program)
    result, execution = emulator_gemm.run_gemm(code, case, device=device, options=options)
    return Measured(cpu=device.cpu, wall=device.wall, result=result, execution=execution)


def row(name: str, case: Case, found: Measured) -> None:
    """Print what one launch came to."""
    rate = case.cost / found.cpu / 1e9
    each = found.cpu / found.execution.instructions * 1e6
    print(f"{name:24} {case.name:16} {found.cpu:9.3f} {found.wall:9.3f} {rate:10.4f} {each:12.2f}")


def followed_by(code: CodeObject, translator: Translator, detector: Detector) -> tuple[Measured, Measured]:
    """Return the quickest launch of a product without and with a detector, taken in turns."""
    case, options = case_of(*FOLLOWED), Options(detectors=frozenset({detector}))
    measure(code, case_of(*SMALL), translator, options)  # compiles
    pairs = [(measure(code, case, translator), measure(code, case, translator, options)) for _ in range(REPEATS)]
    plain = min((pair[0] for pair in pairs), key=lambda found: found.cpu)
    followed = min((pair[1] for pair in pairs), key=lambda found: found.cpu)
    row("translated", case, plain)
    row(f"translated, {detector}", case, followed)
    return plain, followed


def is_cheap(detector: Detector, plain: Measured, followed: Measured) -> bool:
    """Say what a detector costs and finds; return whether it is silent, changes nothing and costs little enough."""
    slower = followed.cpu / plain.cpu
    found = len(followed.execution.findings)
    print(f"the detector of {detector} takes {slower:.2f} times as long; it finds {found} faults")
    return not found and followed.result.tobytes() == plain.result.tobytes() and slower <= MOST_SLOWER[detector]


def main() -> int:
    """Print the table and return 1 if a bound does not hold."""
    small, large = case_of(*SMALL), case_of(*LARGE)
    with tempfile.TemporaryDirectory() as folder:
        path = compile_gemm(Path(folder))
        code = read_code_object(path.read_bytes(), path.name)
        translator = Translator(Path(folder))
        print(f"{'executor':24} {'case':16} {'cpu s':>9} {'wall s':>9} {'GFLOP/s':>10} {'us/wave-inst':>12}")
        cold = measure(code, small, translator)
        row("translated, first time", small, cold)
        warm = min((measure(code, small, translator) for _ in range(REPEATS)), key=lambda found: found.cpu)
        row("translated", small, warm)
        reference = measure(code, small, Program)
        row("reference", small, reference)
        big = measure(code, large, translator)
        row("translated", large, big)
        exact = Options(numerics=EXACT_MATRICES)
        measure(code, small, translator, exact)  # compiles
        precise = measure(code, large, translator, exact)
        row("translated, exact", large, precise)
        pairs = {detector: followed_by(code, translator, detector) for detector in MOST_SLOWER}
    same = reference.result.tobytes() == warm.result.tobytes() == cold.result.tobytes()
    share = emulator_gemm.share_in_tolerance(large, big.result)
    ratio, gflops = reference.cpu / warm.cpu, large.cost / big.cpu / 1e9
    print(f"writing and compiling code took {translator.work.seconds:.1f} s of wall time")
    print(f"left to the reference: {translator.work.interpreted.total()} instructions")
    verdict = "the same" if same else "NOT THE SAME"
    print(f"translated code is {ratio:.0f} times as fast as the reference; the bits are {verdict}")
    print(f"exact matrix arithmetic takes {precise.cpu / big.cpu:.1f} times as long as the fast one")
    cheap = [is_cheap(detector, *pair) for detector, pair in pairs.items()]
    print(f"{share:.4%} of the large product is in tolerance")
    good = same and all(cheap) and share == 1.0
    return 0 if good and ratio >= LEAST_RATIO and gflops >= LEAST_GFLOPS else 1


if __name__ == "__main__":
    sys.exit(main())
