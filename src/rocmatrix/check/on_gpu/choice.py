"""From a plan and what the user named to the GPU that is used and the image of each unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import environ

from rocmatrix.check.on_gpu.executor import ChosenImage, Device, GpuExecutor
from rocmatrix.check.on_gpu.identity import Promise
from rocmatrix.check.options import CheckOptions
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit, Notice
from rocmatrix.gpu.image import TorchImage, find_image, local_engine
from rocmatrix.gpu.machine import THIS_MACHINE, Machine
from rocmatrix.gpu.nodes import KFD, access_to, require_driver
from rocmatrix.gpu.selection import choose
from rocmatrix.gpu.topology import Gpu, driver_version, list_gpus, memory_of
from rocmatrix.plan.matrix_model import CheckImage
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.plan.version import minor_key

_BUSY = 0.1
"""Part of a GPU's memory in use above which it is said that somebody else is on it."""
_LISTED = 3


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be checked on a GPU.

    Attributes:
        plan: the plan.
        units: those that are asked for.
        images: gives ``check.images`` of matrix.yaml; called only where they are needed.
    """

    plan: Plan
    units: Sequence[Unit]
    images: Callable[[], Sequence[CheckImage]]


def make_gpu_executor(
    options: CheckOptions, wanted: Wanted, *, host: Engine, emit: Emit, machine: Machine = THIS_MACHINE
) -> GpuExecutor:
    """Return what runs cases on a GPU of this machine; of a GPU that others use it is said.

    Args:
        options: what is asked for.
        wanted: which units, of which plan.
        host: engine of this machine, for the author's cases.
        emit: takes what is to be said.
        machine: where to look.

    Raises:
        MissingRequirementError: what is missing: driver, rights, engine, the image of a unit.
        InputError: there is no GPU of the number that was asked for.
    """
    require_driver(machine.devices / KFD.name)
    gpu = choose(list_gpus(machine.nodes), options.gpu, environ)
    access = access_to(gpu, devices=machine.devices)
    device = Device(gpu=gpu, access=access, driver=driver_version(machine.driver_version))
    named = {unit.id: named_image(wanted.plan, unit, wanted.images, options.image) for unit in wanted.units}
    images = _found({reference for reference, _ in named.values()})
    chosen = {unit: ChosenImage(image=images[name], promises=promises) for unit, (name, promises) in named.items()}
    _tell_of_others(gpu, machine, emit)
    return GpuExecutor(host=host, device=device, images=chosen, budget=options.gpu_budget, seed=options.seed)


def promises_of(plan: Plan, unit: Unit) -> tuple[Promise, ...]:
    """Return what a unit is promised to run with: a promise for each cell that it serves."""
    return tuple(
        Promise(cell=cell.id, torch=cell.torch, rocm=cell.rocm, archs=cell.archs)
        for cell in plan.cells
        if cell.id in unit.serves
    )


def named_image(
    plan: Plan, unit: Unit, images: Callable[[], Sequence[CheckImage]], override: str | None
) -> tuple[str, tuple[Promise, ...]]:
    """Return the image that the cases of a unit run in, and the promises any of which its torch has to keep.

    Of several cells that have an image it is that of the newest torch; ``override`` is the image for any of them.

    Raises:
        MissingRequirementError: no cell of the unit has an image.
    """
    promises = promises_of(plan, unit)
    if override:
        return override, promises
    by_cell = {(image.torch, image.rocm): image.reference for image in images()}
    having = [promise for promise in promises if (promise.torch, promise.rocm) in by_cell]
    if not having:
        keys = [f"torch{promise.torch}-rocm{promise.rocm}" for promise in promises]
        more = f" or one of {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
        raise MissingRequirementError(
            f"no image with a torch is named for {unit.id}",
            where="check.images",
            fix=f"Name one in matrix.yaml for {', '.join(keys[:_LISTED])}{more}, give --image, or leave the unit out by"
            " --only.",
        )
    newest = max(having, key=lambda promise: (minor_key(promise.torch), minor_key(promise.rocm)))
    return by_cell[newest.torch, newest.rocm], (newest,)


def _found(names: set[str]) -> Mapping[str, TorchImage]:
    with closing(local_engine()) as client:
        return {name: find_image(client, name) for name in sorted(names)}


def _tell_of_others(gpu: Gpu, machine: Machine, emit: Emit) -> None:
    memory = memory_of(gpu, machine.drm)
    if memory and memory.used > _BUSY * memory.total:
        used = f"{memory.used / 1e9:.1f} of {memory.total / 1e9:.1f} GB"
        message = f"{gpu.render_node} ({gpu.gfx}) is used by somebody else: {used} of its memory are taken"
        emit(Notice(level="warning", message=message))
