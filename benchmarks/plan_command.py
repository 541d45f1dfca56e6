"""What ``rocmatrix plan`` costs as a command: 10,000 cells of real combinations, a manifest of 3,439 sources, mistakes.

``python benchmarks/plan_command.py`` needs the package alone for the first two and, for the mistakes, a checkout with
its tests. Processor time and peak memory are the kernel's count of whole processes, interpreter and imports included.
It fails if what the cells, or the mistake, add to a command that plans one cell takes more than a second of processor
time, or if any of them takes more than 200 MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.project_files import require_sources
from rocmatrix.plan.version import in_order
from rocmatrix.project_listing import folder_listing

ROOT = Path(__file__).parents[1]
CELLS = 10_000
SOURCES = 3439
"""Of kernels-community's aiter-flash-attn-ck, the largest public manifest known."""

GENERAL = '[general]\nname = "{}"\nversion = 1\nedition = 5\nlicense = "MIT"\nbackends = ["rocm"]\n'
SECTION = '[torch]\n[kernel.k]\nbackend = "rocm"\ndepends = ["torch"]\nsrc = [{}]\n'
MOST_SECONDS = 1.0
MOST_MEGABYTES = 200.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Processor seconds and peak MB of one process or step."""

    name: str
    seconds: float
    megabytes: float

    def fits(self, start: float) -> bool:
        """Return whether it keeps the bounds; ``start`` is what any command takes."""
        return self.seconds - start < MOST_SECONDS and self.megabytes < MOST_MEGABYTES


def command(name: str, folder: Path, words: Sequence[str], code: int = 0) -> Cost:
    """Run ``rocmatrix`` in a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "rocmatrix", *words], cwd=folder, env=environment, stdout=out, stderr=err
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        raise SystemExit(f"{name}: exit code {process.returncode}\n{(folder / 'stderr').read_text()}")
    return Cost(name=name, seconds=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss / 1024)


def many_cells(folder: Path) -> Iterable[Cost]:
    """Plan as many kernels for every torch and ROCm there is as make ``CELLS`` cells."""
    compat = load_compat()
    torch = in_order(row.torch for row in compat.pairs)
    rocm = in_order(one for row in compat.pairs for one in row.rocm)
    number = -(-CELLS // (len(torch) * len(rocm)))
    kernels = [{"path": f"k{n}", "repo-id": f"someone/k{n}"} for n in range(number)]
    for n in range(number):
        (folder / f"k{n}").mkdir()
        (folder / f"k{n}" / "build.toml").write_text(GENERAL.format(f"kernel-{n}") + SECTION.format(""))
    matrix = {"schema": 1, "kernels": kernels, "torch": torch, "rocm": rocm, "archs": ["gfx942"]}
    (folder / "matrix.yaml").write_text(json.dumps(matrix))  # JSON is YAML
    cells = number * len(torch) * len(rocm)
    yield command(f"plan --format github, {cells} cells", folder, ("plan", "--toolchain", "llvm", "--format", "github"))
    rows = json.loads((folder / "stdout").read_text())["include"]
    size = (folder / "stdout").stat().st_size
    units = sum(len(row["units"]) for row in rows)
    print(f"  {units} units in {len(rows)} rows, {size} bytes")
    if len(rows) > 64 or size > 1_000_000:  # noqa: PLR2004 - the promise
        raise SystemExit("too many rows, or too large")
    yield command(f"plan --json, {cells} cells", folder, ("plan", "--toolchain", "llvm", "--json"))


def many_sources(folder: Path) -> Iterable[Cost]:
    """Read a manifest with as many sources as the largest public one, and look for each on the disk."""
    names = [f"instances/fmha_fwd_{n % 60}/fmha_fwd_d{n}_bf16_batch_b128x128x32x128x32x128.hip" for n in range(SOURCES)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    text = GENERAL.format("kernel") + SECTION.format(",\n".join(f'"{name}"' for name in names))
    (folder / "build.toml").write_text(text)
    started = time.process_time()
    manifest = parse_manifest(text.encode(), "build.toml")
    parsed = time.process_time()
    require_sources(manifest, folder_listing(folder), "build.toml")
    yield Cost(name=f"read {SOURCES} sources ({len(text)} bytes)", seconds=parsed - started, megabytes=0)
    yield Cost(name="look for them on the disk", seconds=time.process_time() - parsed, megabytes=0)
    matrix = '{schema: 1, kernels: [{path: ., repo-id: a/b}], torch: ["2.13"], rocm: ["7.2"], archs: [gfx942]}'
    (folder / "matrix.yaml").write_text(matrix)
    yield command("plan of that kernel", folder, ("plan", "--toolchain", "llvm", "--json"))


def mistakes(folder: Path) -> Iterable[Cost]:
    """Meet the mistakes that cost most, each by a command from the start."""
    sys.path.insert(0, str(ROOT))
    from tests.system.plan_mistakes import MISTAKES, make_mistake  # noqa: PLC0415 - only a checkout has it

    costly = ("aliases", "10 MB", "3 MB", "deep")
    chosen = [one for one in MISTAKES if one.kind.startswith(costly)]
    for number, mistake in enumerate(chosen):
        make_mistake(mistake, folder / str(number))
        yield command(f"mistake: {mistake.kind} in {mistake.file}", folder / str(number), ("plan",), code=2)


def one_cell(folder: Path) -> Iterable[Cost]:
    """Plan one cell: what any command takes, most of it imports."""
    (folder / "build.toml").write_text(GENERAL.format("kernel") + SECTION.format(""))
    matrix = '{schema: 1, kernels: [{path: ., repo-id: a/b}], torch: ["2.13"], rocm: ["7.2"], archs: [gfx942]}'
    (folder / "matrix.yaml").write_text(matrix)
    yield command("plan --json, 1 cell", folder, ("plan", "--toolchain", "llvm", "--json"))


def main() -> int:
    """Print the table and return 1 if a bound does not hold."""
    good, start = True, 0.0
    for part in (one_cell, many_cells, many_sources, mistakes):
        with tempfile.TemporaryDirectory(prefix="rocmatrix-bench-") as name:
            for cost in part(Path(name)):
                start = start or cost.seconds
                good = good and cost.fits(start)
                memory = f"{cost.megabytes:7.0f} MB" if cost.megabytes else ""
                print(f"{cost.name:48} {cost.seconds:7.3f} s {memory}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
