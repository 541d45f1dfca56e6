"""Whether torch and GPU are those of a promise: what was promised, what is there, what to do."""

import re
from dataclasses import replace

import pytest

from rocmatrix.check.on_gpu.identity import Promise, require_promised
from rocmatrix.check.on_gpu.inside.wire import Found
from rocmatrix.errors import ExitCode, MissingRequirementError
from rocmatrix.plan.model import CellId

RIGHT = Found(
    torch="2.13.0+rocm7.2",
    hip="7.2.26015-fc0010cf6a",
    devices=1,
    name="AMD Instinct MI300X",
    arch="gfx942:sramecc+:xnack-",
    memory=206_141_652_992,
)


def promise(torch: str, rocm: str, *archs: str) -> Promise:
    return Promise(cell=CellId(f"gemm.torch{torch}-rocm{rocm}"), torch=torch, rocm=rocm, archs=archs or ("gfx942",))


PROMISES = (promise("2.12", "7.2"), promise("2.13", "7.2"), promise("2.13", "7.1"))


def confirmed(found: Found, gfx: str = "gfx942", promises: tuple[Promise, ...] = PROMISES) -> Promise:
    return require_promised(found, promises, gfx=gfx, image="some/torch")


@pytest.mark.parametrize(
    ("torch", "hip", "cell"),
    [
        ("2.13.0+rocm7.2", "7.2.26015-fc0010cf6a", "gemm.torch2.13-rocm7.2"),
        ("2.12.1+rocm7.2", "7.2.53211", "gemm.torch2.12-rocm7.2"),
        ("2.13.0", "7.1.25424", "gemm.torch2.13-rocm7.1"),
    ],
)
def test_the_cell_is_that_of_torch_and_hip_to_their_minors(torch: str, hip: str, cell: str) -> None:
    assert confirmed(replace(RIGHT, torch=torch, hip=hip)).cell == cell


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hip": None, "torch": "2.13.0+cpu"}, "torch 2.13.0+cpu is built for CPUs: torch.version.hip is None"),
        ({"hip": None, "cuda": "13.0"}, "is built for CUDA 13.0: torch.version.hip is None"),
        ({"torch": "2.11.0+rocm7.2"}, "it has torch 2.11.0"),
        ({"hip": "7.15.26333"}, "for HIP 7.15.26333; the unit is for torch 2.12 for ROCm 7.2, torch 2.13 for ROCm 7.2"),
        ({"hip": "7.20.1"}, "for HIP 7.20.1"),
        ({"torch": "2.12.0+rocm7.1", "hip": "7.1.1"}, "it has torch 2.12.0"),  # both minors exist, the pair does not
        ({"torch": "2.13.0.dev20260418+rocm7.2"}, "no release"),
        ({"torch": "whatever"}, "no release"),
        ({"hip": "seven"}, "no release"),
        ({"hip": "7.2x"}, "no release"),
        ({"devices": 0, "arch": "", "name": ""}, "sees no GPU where it was given one"),
        ({"devices": 8}, "sees 8 GPUs"),
        ({"devices": 0, "problem": "RuntimeError: No HIP GPUs"}, "was given one (gfx942): RuntimeError: No HIP GPUs"),
        ({"problem": "the first small sum was 0"}, "does not work: the first small sum was 0"),
        ({"arch": "gfx90a:sramecc+:xnack-"}, "calls the GPU gfx90a:sramecc+:xnack-, and the driver calls it gfx942"),
        ({"arch": ""}, "calls the GPU nothing"),
    ],
)
def test_another_torch_or_gpu_is_refused_and_never_a_pass(change: dict[str, str], said: str) -> None:
    with pytest.raises(MissingRequirementError, match=re.escape(said)) as caught:
        confirmed(replace(RIGHT, **change))  # type: ignore[arg-type] # fields of either type
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.where == "some/torch"
    assert caught.value.fix


def test_a_gpu_of_another_arch_than_promised_is_refused() -> None:
    with pytest.raises(MissingRequirementError, match="promised for gfx942, and this GPU is gfx90a") as caught:
        confirmed(replace(RIGHT, arch="gfx90a:sramecc+:xnack-"), gfx="gfx90a")
    assert "--gpu" in str(caught.value)


def test_a_gpu_is_held_against_the_archs_of_its_own_cell() -> None:
    promises = (promise("2.12", "7.2", "gfx942"), promise("2.13", "7.2", "gfx950"))
    with pytest.raises(MissingRequirementError, match="promised for gfx950"):
        confirmed(RIGHT, promises=promises)
