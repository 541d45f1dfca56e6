"""The test bed for GPU checks on machines without a GPU: a kernel in torch alone, built, and who plays the container.

Nothing here is reachable from rocmatrix: its executor gets its engine from docker. What is played is the part that
only a GPU machine has; processes, files, answers and comparison are those of a real check, on a CPU build of torch.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from rocmatrix import pipeline
from rocmatrix.check.on_gpu.choice import promises_of
from rocmatrix.check.on_gpu.executor import ChosenImage, Device, GpuExecutor
from rocmatrix.check.on_gpu.inside.wire import IDENTITY, ORDER, REPORT
from rocmatrix.engine.devices import NO_DEVICES
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.events import discard
from rocmatrix.gpu.image import TorchImage
from rocmatrix.gpu.topology import Gpu
from rocmatrix.pipeline import Options
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.store import Store

PROJECT = Path(__file__).parent / "gpu_project"
MATRIX = 'schema: 1\nkernels: [handmade]\ntorch: ["2.13"]\nrocm: ["7.2"]\narchs: [gfx942]\n'
GPU = Gpu(index=0, node=2, gfx="gfx942", device_id=0x74A1, unique_id=1, render_minor=128)
MI300X: dict[str, object] = {
    "torch": "2.13.0+rocm7.2",
    "hip": "7.2.53211",
    "cuda": None,
    "devices": 1,
    "name": "AMD Instinct MI300X",
    "arch": "gfx942:sramecc+:xnack-",
    "memory": 206_141_652_992,
    "problem": None,
}
IMAGE = TorchImage(
    reference="some/torch:2.13", id="sha256:" + "5" * 64, pushed=("some/torch@sha256:0",), environment={}
)


@dataclass(frozen=True, kw_only=True)
class Built:
    """The handmade kernel, built by rocmatrix."""

    options: Options
    store: Store
    plan: Plan

    @property
    def unit(self) -> Unit:
        """Its only unit."""
        (unit,) = self.plan.units
        return unit

    @property
    def payload(self) -> Path:
        """What was built."""
        return self.store.payload(self.unit.id)

    @property
    def tests(self) -> Path:
        """The folder with its cases."""
        return self.options.matrix.parent / "handmade" / "tests"

    def keep_cases(self, *names: str) -> None:
        """Leave the kernel with these cases."""
        lines = f"\nCASES = [case for case in CASES if case.name in {names!r}]\n"
        (self.tests / "cases.py").write_text((PROJECT / "tests" / "cases.py").read_text() + lines)


def build(root: Path) -> Built:
    """Build the handmade kernel in a folder."""
    shutil.copytree(PROJECT, root / "handmade")
    (root / "matrix.yaml").write_text(MATRIX)
    options = Options(matrix=root / "matrix.yaml", out=root / "dist")
    result = pipeline.build(options, discard)
    assert result.exit_code == 0, [record.error for record in result.builds.values()]
    return Built(options=options, store=Store(options.out), plan=result.plan)


class PlayedContainer(HostEngine):
    """Plays the container of a machine with an MI300X: what runs there runs here, and torch's answers are altered.

    The cases run on the CPU; what torch says of itself is replaced by what it would say there. So a test sees what the
    executor makes of it. An image can lie in the same way, which is why ``check.images`` is the user's to trust.
    """

    def __init__(self, said: dict[str, object], later: dict[str, object] | None = None) -> None:
        """Take what torch says at first, and what it says while cases run, if that differs."""
        super().__init__()
        self._said, self._later = said, later or said

    def run(self, command: Command) -> Completed:
        """Run a command of the session on the CPU; who only asks which torch there is, is told at once."""
        if "identity" in command.argv:
            (results,) = (place.host for place in command.places if place.fetched)
            (results / IDENTITY).write_text(json.dumps(self._said))
            return Completed(returncode=0, output="", seconds=0.0)
        argv = tuple("cpu" if word == "cuda" else word for word in command.argv)
        for place in command.places:
            if (order := place.host / ORDER).is_file():
                order.write_text(order.read_text().replace('"device":"cuda"', '"device":"cpu"'))
        done = super().run(replace(command, argv=argv))
        for place in command.places:
            if (report := place.host / REPORT).is_file():
                lines = [json.loads(line) for line in report.read_text().splitlines()]
                told = [line | {"found": self._later} if line["found"] else line for line in lines]
                report.write_text("".join(json.dumps(line) + "\n" for line in told))
        return done


def executor(built: Built, container: HostEngine, gpu: Gpu = GPU) -> GpuExecutor:
    """Return the executor of a GPU check whose container is played."""
    chosen = ChosenImage(image=IMAGE, promises=promises_of(built.plan, built.unit))
    device = Device(gpu=gpu, access=NO_DEVICES, driver="amdgpu 6.16.13")
    return GpuExecutor(
        host=HostEngine(), device=device, images={built.unit.id: chosen}, seed=5, engine=lambda _chosen: container
    )
