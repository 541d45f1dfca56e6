"""How planning scales: cells from 100 to 100,000, per cell and as ratios within one run.

``python benchmarks/plan_scaling.py`` needs the package alone. Each size is planned in a process of its own, so that
peak memory is that size's. It fails if a cell of the largest plan costs more than three times one of the 1,000-cell
plan, or if 10,000 cells take more than a second of processor time or 200 MB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace

from rocmatrix.document import to_json
from rocmatrix.plan.compat import Compat, PairRow, load_compat
from rocmatrix.plan.github import github_matrix
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.planner import make_plan

SIZES = ((10, 10), (40, 25), (100, 100), (1000, 100))
"""torch minors x ROCm minors."""

MANIFEST = b"""
[general]
name = "gemm"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
[general.hub]
repo-id = "someone/gemm"
[torch]
stable-abi = "2.10"
[kernel.gemm]
backend = "rocm"
depends = ["torch"]
src = ["gemm.hip"]
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One plan: processor seconds of planning (parsing included), of rows for GitHub, and peak memory in MB."""

    cells: int
    plan: float
    github: float
    plan_json: int
    megabytes: float


def measure(torches: int, rocms: int) -> Measured:
    """Plan one kernel for this many torch and ROCm minors, all of which exist."""
    torch = [f"2.{10 + n}" for n in range(torches)]
    rocm = [f"7.{n}" for n in range(rocms)]
    text = json.dumps({"schema": 1, "kernels": ["gemm"], "torch": torch, "rocm": rocm, "archs": ["gfx942"]})
    compat = dense(torch, rocm)
    start = time.process_time()
    matrix = parse_matrix(text.encode(), "matrix.yaml")  # JSON is YAML
    plan = make_plan(matrix, {"gemm": parse_manifest(MANIFEST, "build.toml")}, compat, toolchain="llvm")
    planned = time.process_time()
    github_matrix(plan.units, max_jobs=64)
    packed = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = len(to_json(plan))
    return Measured(
        cells=len(plan.cells), plan=planned - start, github=packed - planned, plan_json=size, megabytes=peak
    )


def dense(torch: list[str], rocm: list[str]) -> Compat:
    """Return facts by which every torch exists for every ROCm."""
    rows = [PairRow(torch=one, rocm=tuple(rocm), date="", source="made up", verified=True) for one in torch]
    return replace(load_compat(), pairs=tuple(rows))


def in_process(torches: int, rocms: int) -> Measured:
    """Return what ``measure`` finds in a fresh process."""
    command = [sys.executable, __file__, str(torches), str(rocms)]
    done = subprocess.run(command, check=True, capture_output=True, timeout=300)
    return Measured(**json.loads(done.stdout))


def main() -> int:
    """Print the table and return 1 if a bound does not hold."""
    found = [in_process(*size) for size in SIZES]
    print(f"{'cells':>8} {'plan s':>8} {'us/cell':>8} {'github s':>9} {'plan.json MB':>13} {'peak MB':>8}")
    for row in found:
        each = row.plan / row.cells * 1e6
        megabytes = row.plan_json / 1e6
        print(f"{row.cells:8} {row.plan:8.3f} {each:8.1f} {row.github:9.4f} {megabytes:13.1f} {row.megabytes:8.0f}")
    _, thousand, ten_thousand, largest = found
    ratio = (largest.plan / largest.cells) / (thousand.plan / thousand.cells)
    print(f"a cell of {largest.cells} costs {ratio:.2f} times a cell of {thousand.cells}")
    good = ratio < 3 and ten_thousand.plan + ten_thousand.github < 1 and ten_thousand.megabytes < 200  # noqa: PLR2004 - bounds
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(asdict(measure(int(sys.argv[1]), int(sys.argv[2])))))
    else:
        sys.exit(main())
