"""What a container costs beside the same commands on this machine, in one run.

``python benchmarks/engine_overhead.py IMAGE [--units N]`` needs the package and a docker engine that has the image,
which may be any with a shell and coreutils, e.g. one of ``rocmatrix images list``. A unit is what the build stage hands
to an engine: a folder of sources that are sent, one command that computes, and a result that is fetched. The command
is a loop in ``sh``, the same on both sides, of about as much work as compiling a small HIP source. Printed are the
seconds from nothing to the first output of a command (``first``: the image is there, the container is not), those of
each later unit, and the ratio of docker to host for a later unit and for all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Engine
from rocmatrix.engine.paths import Place

SOURCES, SOURCE_BYTES = 20, 10_000
LOOPS = 1_000_000
_WORK = f'echo begun; i=0; while [ $i -lt {LOOPS} ]; do i=$((i+1)); done; cat "$0"/* > "$1"/made.so'


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """Wall seconds: from nothing to the first output of a command, of each unit after the first, and of everything."""

    first: float
    unit: float
    total: float


def measure(engine: Engine, folder: Path, units: int) -> Seconds:
    """Build units one after the other on an engine, and close it."""
    project = folder / "project"
    project.mkdir()
    for number in range(SOURCES):
        (project / f"{number}.hip").write_bytes(bytes([65 + number]) * SOURCE_BYTES)
    started = time.monotonic()
    begun: list[float] = []
    spent: list[float] = []
    for number in range(units):
        clock = time.monotonic()
        _build(engine, project, folder / str(number), begun)
        spent.append(time.monotonic() - clock)
    engine.close()
    return Seconds(first=begun[0] - started, unit=statistics.median(spent[1:]), total=time.monotonic() - started)


def _build(engine: Engine, project: Path, unit: Path, begun: list[float]) -> None:
    output = unit / "output"
    output.mkdir(parents=True)
    done = engine.run(
        Command(
            argv=("sh", "-c", _WORK, str(project), str(output)),
            cwd=unit,
            timeout=600.0,
            writable=(output,),
            on_line=lambda _: begun.append(time.monotonic()),
            places=(
                Place(host=project, name="project"),
                Place(host=output, name=f"{unit.name}/output", writable=True, fetched=True),
            ),
            room="kernel",
        )
    )
    made = output / "made.so"
    if done.returncode != 0 or made.stat().st_size != SOURCES * SOURCE_BYTES:
        raise SystemExit(f"a unit was not built on {engine.name}: {done}")


def main() -> int:
    """Measure both engines and print one JSON document."""
    parser = argparse.ArgumentParser(description="what a container costs beside the same commands on this machine")
    parser.add_argument("image", help="any image of the engine with a shell and coreutils")
    parser.add_argument("--units", type=int, default=6, help="units of the kernel, at least 2 (default: %(default)s)")
    asked = parser.parse_args()
    docker = DockerEngine(lambda client: str(client.images.get(asked.image).id), ninja="/usr/bin/ninja", environment={})
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
        host = measure(HostEngine(), Path(here), asked.units)
        contained = measure(docker, Path(there), asked.units)
    found = {
        "host": asdict(host),
        "docker": asdict(contained),
        "overhead_of_a_unit": contained.unit - host.unit,
        "ratio_of_a_unit": contained.unit / host.unit,
        "ratio_of_all": contained.total / host.total,
        "units": asked.units,
    }
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
