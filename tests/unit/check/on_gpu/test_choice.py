"""Which image the cases of a unit run in, and which promises its torch may keep."""

from dataclasses import replace

import pytest

from rocmatrix.check.on_gpu.choice import named_image, promises_of
from rocmatrix.errors import ExitCode, MissingRequirementError
from rocmatrix.plan.matrix_model import CheckImage
from rocmatrix.plan.model import CellId, Plan


def image(torch: str, rocm: str, reference: str) -> CheckImage:
    return CheckImage(torch=torch, rocm=rocm, reference=reference, where="matrix.yaml:9")


def with_torches(plan: Plan, *torches: str) -> Plan:
    """Return the plan with its unit serving these torches."""
    served, *_ = plan.cells
    cells = [replace(served, id=CellId(f"gemm.torch{torch}-rocm7.2"), torch=torch) for torch in torches]
    (unit,) = plan.units
    return replace(plan, cells=tuple(cells), units=(replace(unit, serves=tuple(cell.id for cell in cells)),))


def test_a_unit_s_promises_are_the_cells_that_it_serves(plan: Plan) -> None:
    (promise,) = promises_of(plan, plan.units[0])
    assert (promise.cell, promise.torch, promise.rocm, promise.archs) == (
        "gemm.torch2.13-rocm7.2",
        "2.13",
        "7.2",
        ("gfx942",),
    )


def test_of_several_images_it_is_that_of_the_newest_torch_and_of_its_promise_alone(plan: Plan) -> None:
    many = with_torches(plan, "2.9", "2.10", "2.13")
    images = (image("2.9", "7.2", "old"), image("2.10", "7.2", "new"), image("2.13", "7.1", "other"))
    name, promises = named_image(many, many.units[0], lambda: images, None)
    assert name == "new"
    assert [promise.torch for promise in promises] == ["2.10"]


def test_an_image_of_the_command_line_may_keep_any_promise_of_the_unit(plan: Plan) -> None:
    many = with_torches(plan, "2.12", "2.13")
    name, promises = named_image(many, many.units[0], lambda: pytest.fail("matrix.yaml was read"), "mine")
    assert name == "mine"
    assert [promise.torch for promise in promises] == ["2.12", "2.13"]


def test_a_unit_without_an_image_is_refused_with_the_keys_to_write(plan: Plan) -> None:
    many = with_torches(plan, "2.10", "2.11", "2.12", "2.13")
    with pytest.raises(MissingRequirementError, match="no image with a torch is named for gemm") as caught:
        named_image(many, many.units[0], lambda: (image("2.14", "7.2", "x"),), None)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert "torch2.10-rocm7.2, torch2.11-rocm7.2, torch2.12-rocm7.2 or one of 1 more" in str(caught.value)
