"""What ``doctor --gpu`` looks at: everything that a check on a GPU needs of this machine, in the order it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from os import environ
from typing import TypeVar

from rocmatrix.errors import RocmatrixError
from rocmatrix.gpu.image import find_image, local_engine
from rocmatrix.gpu.machine import THIS_MACHINE, Machine
from rocmatrix.gpu.nodes import KFD, access_to, require_driver
from rocmatrix.gpu.products import product_of
from rocmatrix.gpu.selection import choose, visible
from rocmatrix.gpu.topology import Gpu, driver_version, list_gpus, memory_of
from rocmatrix.machine import Health, Probe
from rocmatrix.plan.matrix_model import CheckImage

_T = TypeVar("_T")
NEEDED_BY = "check --on gpu"


def probe_gpu(images: Callable[[], Sequence[CheckImage]], *, machine: Machine = THIS_MACHINE) -> tuple[Probe, ...]:
    """Look at driver, GPUs, rights, engine and images; what cannot be looked at for want of another is skipped.

    Args:
        images: gives ``check.images`` of matrix.yaml; raises ``RocmatrixError`` where that cannot be read.
        machine: where to look.
    """
    return (*_device(machine), *_images(images))


def _device(machine: Machine) -> Iterator[Probe]:
    driver, there = _tried(
        "GPU driver",
        lambda: require_driver(machine.devices / KFD.name),
        lambda _: driver_version(machine.driver_version),
    )
    yield driver
    if not there:
        yield _skipped("GPU chosen", "GPU rights")
        return
    gpus = list_gpus(machine.nodes)
    yield _found("GPUs", f"{len(gpus)}, {len(visible(gpus, environ))} of them visible")
    chosen, gpu = _tried("GPU chosen", lambda: choose(gpus, None, environ), lambda found: _described(found, machine))
    yield chosen
    if gpu is None:
        yield _skipped("GPU rights")
        return
    rights, _ = _tried(
        "GPU rights",
        lambda: access_to(gpu[0], devices=machine.devices),
        lambda got: f"groups {list(got.groups)} or everybody",
    )
    yield rights


def _images(images: Callable[[], Sequence[CheckImage]]) -> Iterator[Probe]:
    engine, client = _tried("GPU engine", local_engine, lambda _: "a docker engine of this machine answers")
    yield engine
    named, listed = _tried("GPU images", images, lambda found: f"{len(found)} named by check.images")
    if listed and not listed[0]:
        named = _missing("GPU images", "none is named", "Name them in matrix.yaml, check.images, or use --image.")
    yield named
    if client is None:
        return
    with closing(client[0]):
        for image in listed[0] if listed else ():
            name = f"torch{image.torch}-rocm{image.rocm}"
            probe, _ = _tried(name, partial(find_image, client[0], image.reference), lambda found: found.reference)
            yield probe


def _tried(name: str, look: Callable[[], _T], say: Callable[[_T], str]) -> tuple[Probe, tuple[_T] | None]:
    """Return what a look came to, and what it found, if anything."""
    try:
        found = look()
    except RocmatrixError as err:
        return _missing(name, err.what, err.fix), None
    return _found(name, say(found)), (found,)


def _described(gpu: Gpu, machine: Machine) -> str:
    product, memory = product_of(gpu.device_id), memory_of(gpu, machine.drm)
    used = f", {memory.used / 1e9:.1f} of {memory.total / 1e9:.1f} GB in use" if memory else ""
    return f"{product.name if product else f'device {gpu.device_id:#x}'} ({gpu.gfx}), {gpu.render_node}{used}"


def _found(name: str, detail: str) -> Probe:
    return Probe(name=name, health=Health.OK, detail=detail, needed_by=NEEDED_BY)


def _missing(name: str, detail: str, fix: str | None) -> Probe:
    return Probe(name=name, health=Health.MISSING, detail=detail, needed_by=NEEDED_BY, fix=fix)


def _skipped(*names: str) -> Probe:
    return Probe(
        name=", ".join(names), health=Health.SKIPPED, detail="needs what is missing above", needed_by=NEEDED_BY
    )
