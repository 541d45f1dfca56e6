"""The executor ``gpu``: one unit at a time, on one GPU, in a container of an image that keeps one of its promises."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rocmatrix import digest
from rocmatrix.cases import CaseDescription
from rocmatrix.check.budget import choose
from rocmatrix.check.interface import Execution, Progress
from rocmatrix.check.on_gpu.answers import Answers
from rocmatrix.check.on_gpu.identity import Promise, require_promised
from rocmatrix.check.on_gpu.inside.wire import Found
from rocmatrix.check.on_gpu.session import MOST_SECONDS, START_SECONDS, Ran, Session
from rocmatrix.check.on_gpu.verdict import ran_cases
from rocmatrix.engine.devices import DeviceAccess
from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.gpu.image import TorchImage
from rocmatrix.gpu.products import product_of
from rocmatrix.gpu.topology import Gpu
from rocmatrix.plan.model import Unit, UnitId
from rocmatrix.records import CaseResult, GpuRun, Tested

CASE_SECONDS = 120.0
"""Seconds that any case may take, whatever its cost: a kernel that is compiled or tuned at its first call is slow."""
SLOWEST = 1e9
"""Floating-point operations per second below which a case counts as stuck: a thousandth and less of a GPU's."""
LEAST_COST = 1e6
"""What the smallest case costs in a budget."""


@dataclass(frozen=True, kw_only=True)
class ChosenImage:
    """The image that the cases of a unit run in, and the promises any of which its torch has to keep."""

    image: TorchImage
    promises: tuple[Promise, ...]


@dataclass(frozen=True, kw_only=True)
class Device:
    """The GPU that is used: what the driver says of it, how it is opened, the driver's version."""

    gpu: Gpu
    access: DeviceAccess
    driver: str


class GpuExecutor:
    """Runs cases on a GPU; a check counts only after torch, ROCm and GPU were those of a promise."""

    def __init__(
        self,
        *,
        host: Engine,
        device: Device,
        images: Mapping[UnitId, ChosenImage],
        budget: float | None = None,
        seed: int = 0,
        engine: Callable[[ChosenImage], Engine] | None = None,
    ) -> None:
        """Keep what is needed.

        Args:
            host: engine of this machine, for the author's cases.
            device: the GPU.
            images: for every unit that may be asked for.
            budget: floating-point operations of the cases that run; ``None`` for all of them.
            seed: what random inputs begin with; 0 for the cases' own seeds.
            engine: gives the engine of an image; ``None`` for docker's.
        """
        self._host = host
        self._device = device
        self._images = images
        self._budget = budget
        self._seed = seed
        self._engine = engine or self._docker
        self._one = threading.Lock()
        self._running: Engine | None = None
        self._stopped = False

    @property
    def description(self) -> str:
        """The GPU, for people."""
        gpu = self._device.gpu
        product = product_of(gpu.device_id)
        return f"{product.name if product else 'a GPU'} ({gpu.gfx}), {gpu.render_node}, {self._device.driver}"

    def identity(self, unit: Unit) -> str:
        """Return a digest of what runs the cases, the GPU, its driver, the unit's image, budget and seed."""
        gpu, image = self._device.gpu, self._images[unit.id].image.id
        device = f"{gpu.gfx} {gpu.device_id:#x} {gpu.unique_id:#x} {self._device.driver}"
        return f"gpu {self._own} {device} {image} budget {self._budget} seed {self._seed}"

    @cached_property
    def _own(self) -> str:
        folder = Path(__file__).parent
        return digest.of_named_files({path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")})

    def interrupt(self) -> None:
        """Kill whatever runs and start nothing more."""
        self._stopped = True
        self._host.interrupt()
        if running := self._running:
            running.interrupt()

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        """Run the cases of a unit, one unit after the other.

        Raises:
            CheckError: the cases or the kernel cannot be used at all.
            MissingRequirementError: torch, ROCm or GPU are not what the unit is promised for, or the engine or the GPU
                fails.
        """
        chosen, choice = self._images[unit.id], choose(cases, self._budget, least=LEAST_COST)
        limits = {case.name: CASE_SECONDS + case.cost / SLOWEST for case in choice.chosen}
        with self._one, closing(self._engine(chosen)) as engine, _scratch() as folder:
            self._running = engine
            self._require_wanted(unit)
            session = Session(host=self._host, container=engine, room=str(unit.id), folder=folder)
            found = session.identity()
            gpu = self._device.gpu
            promise = require_promised(found, chosen.promises, gfx=gpu.gfx, image=chosen.image.reference)
            copied = folder / "tests"
            shutil.copytree(tests, copied, ignore=shutil.ignore_patterns("__pycache__"))
            inputs = session.prepare(copied, limits, self._seed)
            seconds = START_SECONDS + min(sum(limits.values()), MOST_SECONDS)
            told = _Progress(len(limits), progress).take
            ran = session.run(payload, inputs, tuple(limits), seconds, told)
            self._require_wanted(unit)
            _require_same(ran, found, chosen.image.reference)
            compared = ran_cases(ran, tuple(limits), limits)
            results = session.compare(copied, ran.results, compared, self._seed)
        left_out = set(choice.left_out) | (set(limits) - {result.case for result in results})
        names = tuple(case.name for case in cases if case.name in left_out)
        return self._execution(results, names, self._came_from(found, promise, chosen.image))

    def _require_wanted(self, unit: Unit) -> None:
        """Start nothing and believe nothing after an interrupt: what ran then was killed."""
        if self._stopped:
            raise MissingRequirementError("the check was interrupted", where=str(unit.id))

    def _execution(self, results: tuple[CaseResult, ...], left_out: tuple[str, ...], run: GpuRun) -> Execution:
        product = product_of(self._device.gpu.device_id)
        said = f"{run.name} ({run.arch}), torch {run.torch} for HIP {run.hip}, as promised by {run.cell}"
        if left_out:
            said += f"; {len(left_out)} of {len(results) + len(left_out)} cases left out or not reached"
        return Execution(
            tested=Tested.MI300X if product and product.mi300x else Tested.OTHER_GPU,
            device=said,
            results=results,
            left_out=left_out,
            seed=self._seed,
            gpu=run,
        )

    def _came_from(self, found: Found, promise: Promise, image: TorchImage) -> GpuRun:
        product = product_of(self._device.gpu.device_id)
        return GpuRun(
            name=found.name,
            product=product.name if product else "",
            arch=found.arch,
            memory=found.memory,
            driver=self._device.driver,
            torch=found.torch,
            hip=found.hip or "",
            cell=promise.cell,
            image=image.reference,
            image_id=image.id,
            pushed=image.pushed,
        )

    def _docker(self, chosen: ChosenImage) -> Engine:
        image = chosen.image
        return DockerEngine(
            lambda _client: image.id, ninja="", environment=image.environment, devices=self._device.access
        )


class _Progress:
    """Counts cases as they end in the container."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total = total
        self._progress = progress
        self._done = 0

    def take(self, name: str) -> None:
        self._done = min(self._done + 1, self._total)
        self._progress(self._done, self._total, name)


def _require_same(ran: Ran, found: Found, image: str) -> None:
    """Refuse results of another torch or GPU than the one that was looked at before."""
    answers: Answers | None = ran.answers
    if answers and any(other != found for other in answers.found):
        other = next(other for other in answers.found if other != found)
        raise MissingRequirementError(
            f"while the cases ran, torch said {other.torch} for HIP {other.hip} on {other.arch}, and before"
            f" {found.torch} for HIP {found.hip} on {found.arch}",
            where=image,
            fix="The kernel or the image changes what torch says of itself; nothing of this run counts.",
        )


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="rocmatrix-gpu-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
