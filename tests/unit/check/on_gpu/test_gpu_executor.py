"""The GPU executor's identity: a check is done anew for what its own unit ran on, and for nothing else."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rocmatrix.check.on_gpu.executor import ChosenImage, Device, GpuExecutor
from rocmatrix.engine.devices import NO_DEVICES
from rocmatrix.engine.host import HostEngine
from rocmatrix.gpu.image import TorchImage
from rocmatrix.gpu.topology import Gpu
from rocmatrix.plan.model import Plan, Unit, UnitId

OTHER = UnitId("gemm.other")
DEVICE = Device(
    gpu=Gpu(index=0, node=2, gfx="gfx942", device_id=0x74A1, unique_id=1, render_minor=128),
    access=NO_DEVICES,
    driver="amdgpu 6.16.13",
)


@pytest.fixture
def unit(plan: Plan) -> Unit:
    return plan.units[0]


def image(number: int) -> ChosenImage:
    found = TorchImage(reference="some/torch:2.13", id=f"sha256:{number}", pushed=(), environment={})
    return ChosenImage(image=found, promises=())


def identity(
    unit: Unit, images: Mapping[UnitId, ChosenImage], *, device: Device = DEVICE, budget: float | None = None
) -> str:
    return GpuExecutor(host=HostEngine(), device=device, images=images, budget=budget).identity(unit)


def test_which_other_units_are_asked_for_changes_nothing(unit: Unit) -> None:
    alone = identity(unit, {unit.id: image(1)})
    assert identity(unit, {unit.id: image(1), OTHER: image(2)}) == alone
    assert identity(unit, {unit.id: image(1), OTHER: image(3)}) == alone


def test_another_image_gpu_driver_or_budget_is_another_check(unit: Unit) -> None:
    images = {unit.id: image(1), OTHER: image(2)}
    found = {
        identity(unit, images),
        identity(unit, {unit.id: image(2), OTHER: image(2)}),
        identity(unit, images, budget=1.0),
        identity(unit, images, device=replace(DEVICE, driver="amdgpu 6.16.14")),
        identity(unit, images, device=replace(DEVICE, gpu=replace(DEVICE.gpu, unique_id=2))),
    }
    assert len(found) == 5
