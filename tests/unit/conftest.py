"""A small plan and records that several unit tests share."""

import pytest

from rocmatrix.digest import Digest, of_bytes
from rocmatrix.plan.model import (
    Abi,
    Cell,
    CellId,
    CellState,
    Evidence,
    Plan,
    PlannedKernel,
    ReasonCode,
    ToolchainId,
    ToolchainSpec,
    Unit,
    UnitId,
)
from rocmatrix.records import BuildRecord, Isolation, Outcome

UNIT = UnitId("gemm.torch-stable-abi210-rocm72-x86_64-linux")


@pytest.fixture
def plan() -> Plan:
    """One kernel, one unit, a served and a refused cell."""
    served = Cell(
        id=CellId("gemm.torch2.13-rocm7.2"),
        kernel="gemm",
        torch="2.13",
        rocm="7.2",
        archs=("gfx942",),
        state=CellState.SERVED,
        unit=UNIT,
        reason="the stable-ABI unit of level 2.10 serves it",
        evidence=Evidence.VERIFIED,
    )
    refused = Cell(
        id=CellId("gemm.torch2.10-rocm7.2"),
        kernel="gemm",
        torch="2.10",
        rocm="7.2",
        archs=("gfx942",),
        state=CellState.REFUSED,
        reason_code=ReasonCode.PAIR_UNKNOWN,
        reason="torch 2.10 was never published for ROCm 7.2",
        evidence=Evidence.VERIFIED,
    )
    unit = Unit(
        id=UNIT,
        kernel="gemm",
        variant="torch-stable-abi210-rocm72-x86_64-linux",
        abi=Abi.STABLE,
        torch="2.10",
        rocm="7.2",
        toolchain=ToolchainId("llvm-rocm7.2"),
        archs=("gfx942",),
        serves=(served.id,),
    )
    toolchain = ToolchainSpec(
        id=ToolchainId("llvm-rocm7.2"), recipe="llvm", rocm="7.2", args={}, chosen_by="matrix.yaml"
    )
    kernel = PlannedKernel(name="gemm", path="kernels/gemm", repo_id="rocmatrix/gemm", version=1)
    return Plan(kernels=(kernel,), toolchains=(toolchain,), cells=(served, refused), units=(unit,))


def build_record(artifact: Digest | None, outcome: Outcome = Outcome.PASSED) -> BuildRecord:
    """Return a build record of the one unit that speaks of this artifact."""
    return BuildRecord(
        unit=UNIT,
        inputs_digest=of_bytes(b"inputs"),
        artifact_digest=artifact,
        outcome=outcome,
        rocmatrix="0.1.0",
        uid="0123abcd",
        toolchain=None,
        isolation=Isolation.HOST,
        headers=None,
        gates=(),
        started="2026-11-29T00:00:00Z",
        seconds=1.0,
        files=(),
    )
