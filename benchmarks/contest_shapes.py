"""The contest's shapes on the emulator: seconds and GFLOP/s of this repository's GEMM, with all detectors and without.

``python benchmarks/contest_shapes.py [--benchmark] [--processes 2] [--detectors-only]``, with the package and its
extras ``emulator`` and ``embedded`` installed, runs the 11 test shapes (31 GFLOP), or also the 18 benchmark shapes
(1.3 TFLOP). Every result must be in tolerance and nothing may be found wrong. Each shape is launched without detectors
and with them in the same process, so that the ratio is of one run; then all shapes are launched with detectors once
more, side by side, for the time that a check of them takes. ``--detectors-only`` does the second part alone. All
processes together may hold 4 GB of memory. The code is translated before the clock starts; what that took is printed.

The shapes are those of the problem "amd-fp8-mm" of the AMD Developer Challenge 2025, its tests and its benchmarks:
github.com/gpu-mode/reference-kernels, problems/amd/fp8-mm/task.yml of commit c33b5bb5, read on 2026-11-30.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from emulator_speed import TimedDevice, case_of
from tests.system import emulator_gemm
from tests.system.emulator_compiler import compile_gemm

from rocmatrix.cases import Array, Case
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.reports import ALL_DETECTORS, Detector
from rocmatrix.emulator.translator.program import Translator

TEST_SHAPES = (
    (64, 64, 128), (64, 1536, 7168), (64, 3072, 1536), (64, 576, 7168), (96, 7168, 256), (96, 7168, 2048),
    (96, 4608, 7168), (128, 7168, 2304), (128, 512, 7168), (512, 4096, 512), (512, 1536, 7168),
)  # fmt: skip
"""M, N, K of the contest's tests."""
_N_AND_K = (
    (1536, 7168), (3072, 1536), (576, 7168), (7168, 256), (7168, 2048), (4608, 7168), (7168, 2304), (512, 7168),
    (4096, 512),
)  # fmt: skip
BENCHMARK_SHAPES = tuple((m, n, k) for m in (1024, 6144) for n, k in _N_AND_K)
"""M, N, K of the contest's benchmarks."""
SMALL = (64, 64, 128)
NONE: frozenset[Detector] = frozenset()
MEMORY = 4 << 20
"""KiB of memory that all processes together may hold."""
_ROWS = 512
"""Of a product that are compared at once: float64 of all of them would take more memory than the emulator."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One launch: seconds of processor and of wall time without making its inputs, and whether it is right.

    ``memory``: the most KiB that its process has held so far.
    """

    shape: tuple[int, int, int]
    cpu: float
    wall: float
    right: bool
    memory: int

    @property
    def operations(self) -> float:
        """Floating-point operations of the product."""
        m, n, k = self.shape
        return 2.0 * m * n * k


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What launches share."""

    code: CodeObject
    translator: Translator

    def measure(self, shape: tuple[int, int, int], detectors: frozenset[Detector]) -> Measured:
        """Launch a shape."""
        case, device = case_of(*shape), TimedDevice(self.translator)
        result, execution = emulator_gemm.run_gemm(self.code, case, device=device, options=Options(detectors=detectors))
        right = _is_right(case, result) and not execution.findings
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Measured(shape=shape, cpu=device.cpu, wall=device.wall, right=right, memory=memory)


def _is_right(case: Case, got: Array) -> bool:
    """Say whether all elements are in tolerance, some rows after the others."""
    arguments = case.make_arguments()
    for first in range(0, len(got), _ROWS):
        rows = slice(first, first + _ROWS)
        part = {**arguments, "a": arguments["a"][rows], "a_scale": arguments["a_scale"][:, rows]}
        want = case.reference(**part)
        if not (np.abs(got[rows] - want) <= case.atol + case.rtol * np.abs(want)).all():
            return False
    return True


_bench: Bench | None = None


def _measure(shape: tuple[int, int, int]) -> Measured:
    assert _bench is not None  # noqa: S101 - set before the processes were forked
    return _bench.measure(shape, ALL_DETECTORS)


def _table(bench: Bench, shapes: tuple[tuple[int, int, int], ...]) -> list[Measured]:
    print(f"{'m x n x k':>16} {'GFLOP':>8} {'plain s':>9} {'with s':>9} {'ratio':>6} {'GFLOP/s':>8}")
    with_all, without = [], []
    for shape in shapes:
        plain, full = bench.measure(shape, NONE), bench.measure(shape, ALL_DETECTORS)
        without.append(plain)
        with_all.append(full)
        _row("x".join(map(str, shape)), [plain], [full])
    _row("together", without, with_all)
    return [*without, *with_all]


def _side_by_side(shapes: tuple[tuple[int, int, int], ...], processes: int) -> list[Measured]:
    """Launch shapes with detectors in several processes, the largest first, and print what that takes."""
    began = time.perf_counter()
    largest_first = sorted(shapes, key=lambda shape: -shape[0] * shape[1] * shape[2])
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        measured = list(pool.map(_measure, largest_first))
    wall, cpu = time.perf_counter() - began, sum(each.cpu for each in measured)
    peak = max(each.memory for each in measured)
    print(
        f"all with detectors, {processes} processes of at most {peak / 2**10:.0f} MiB: {cpu:.1f} s of processor time;"
    )
    print(f"with inputs and references {wall:.1f} s of wall time")
    if peak * processes > MEMORY:
        print(f"that is more than {MEMORY / 2**20:.0f} GiB together")
    return measured


def _row(name: str, without: list[Measured], with_all: list[Measured]) -> None:
    plain, full = (sum(each.cpu for each in group) for group in (without, with_all))
    work = sum(each.operations for each in with_all) / 1e9
    print(f"{name:>16} {work:8.2f} {plain:9.2f} {full:9.2f} {full / plain:6.2f} {work / full:8.2f}", flush=True)


def main() -> int:
    """Print the tables and return 1 if a result is wrong, something was found, or it took too much memory."""
    global _bench  # noqa: PLW0603 - what forked processes find
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", action="store_true", help="the benchmark shapes too")
    parser.add_argument("--detectors-only", action="store_true", help="only the last lines")
    parser.add_argument("--processes", type=int, default=2, help="for the last lines (default: %(default)s)")
    options = parser.parse_args()
    shapes = TEST_SHAPES + (BENCHMARK_SHAPES if options.benchmark else ())
    with tempfile.TemporaryDirectory() as name:
        path = compile_gemm(Path(name))
        _bench = Bench(code=read_code_object(path.read_bytes(), path.name), translator=Translator(Path(name)))
        for detectors in (NONE, ALL_DETECTORS):
            _bench.measure(SMALL, detectors)
        print(f"writing and compiling code took {_bench.translator.work.seconds:.1f} s of wall time")
        measured = [] if options.detectors_only else _table(_bench, shapes)
        measured += _side_by_side(shapes, options.processes)
    fits = all(each.memory * options.processes <= MEMORY for each in measured)
    return 0 if fits and all(each.right for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
