"""What the golden output folder is about: its plan, its kernels, and what a compiler farm would have recorded."""

from dataclasses import replace
from pathlib import Path

from rocmatrix import __version__, digest
from rocmatrix.digest import Digest, of_bytes
from rocmatrix.errors import ExitCode
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
from rocmatrix.records import (
    BuildRecord,
    Gate,
    HeadersOrigin,
    InputDigests,
    Isolation,
    Outcome,
    PayloadFile,
    ToolchainIdentity,
)

STARTED = "2026-11-29T00:00:00Z"
ROCMS = {"7.1": "rocm71", "7.2": "rocm72", "7.14": "rocm714"}
NORM = UnitId("norm.torch-rocm")
UIDS = {"scale": "5ca1e000", "norm": "0a0b0c0d"}
FAILED = "scale.hip:12:3: error: use of undeclared identifier '__shfl_sync'\n"
"""First error of the build that failed."""


def scale_unit(rocm: str) -> UnitId:
    """Return the id of the unit of ``scale`` for a ROCm minor."""
    return UnitId(f"scale.torch-stable-abi210-{ROCMS[rocm]}-x86_64-linux")


NOT_BUILT = {scale_unit("7.14")}
EMULATED = scale_unit("7.1")

_MANIFEST = """[general]
name = "{name}"
version = {version}
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
source = "https://example.org/golden/{name}.git"

[general.hub]
repo-id = "golden/{name}"
"""
PROJECTS = {
    "kernels/scale": _MANIFEST.format(name="scale", version=2)
    + '\n[torch]\nstable-abi = "2.10"\nsrc = []\n'
    + '\n[kernel.scale]\nbackend = "rocm"\ndepends = ["torch"]\nrocm-archs = ["gfx942"]\nsrc = ["scale.hip"]\n',
    "kernels/norm": _MANIFEST.format(name="norm", version=1) + "\n[torch-noarch]\n",
}
"""Folder of each kernel -> its build.toml."""

TOOLCHAINS = tuple(
    ToolchainSpec(id=ToolchainId(f"llvm-rocm{rocm}"), recipe="llvm", rocm=rocm, args={}, chosen_by="matrix.yaml")
    for rocm in ROCMS
)


def _cell(kernel: str, torch: str, rocm: str) -> Cell:
    served = Cell(
        id=CellId(f"{kernel}.torch{torch}-rocm{rocm}"),
        kernel=kernel,
        torch=torch,
        rocm=rocm,
        archs=("gfx942",),
        state=CellState.SERVED,
        unit=NORM if kernel == "norm" else scale_unit(rocm),
        reason="no compiled code: serves every cell" if kernel == "norm" else "stable ABI 2.10: serves torch 2.10 on",
        evidence=Evidence.VERIFIED,
    )
    if (torch, rocm) == ("2.11", "7.14"):
        return replace(
            served,
            state=CellState.REFUSED,
            unit=None,
            reason_code=ReasonCode.PAIR_UNKNOWN,
            reason="no torch 2.11 is known for ROCm 7.14",
            evidence=Evidence.UNVERIFIED,
        )
    if (kernel, torch, rocm) == ("scale", "2.11", "7.1"):
        reason = "excluded in matrix.yaml: wrong results with this torch"
        return replace(served, state=CellState.EXCLUDED, unit=None, reason_code=ReasonCode.EXCLUDED, reason=reason)
    return served


CELLS = tuple(_cell(kernel, torch, rocm) for kernel in UIDS for torch in ("2.11", "2.13") for rocm in ROCMS)


def _serves(unit: UnitId) -> tuple[CellId, ...]:
    return tuple(cell.id for cell in CELLS if cell.unit == unit)


UNITS = (
    *(
        Unit(
            id=scale_unit(rocm),
            kernel="scale",
            variant=scale_unit(rocm).partition(".")[2],
            abi=Abi.STABLE,
            torch="2.10",
            rocm=rocm,
            toolchain=ToolchainId(f"llvm-rocm{rocm}"),
            archs=("gfx942",),
            serves=_serves(scale_unit(rocm)),
        )
        for rocm in ROCMS
    ),
    Unit(
        id=NORM,
        kernel="norm",
        variant="torch-rocm",
        abi=Abi.NOARCH,
        torch=None,
        rocm=None,
        toolchain=None,
        archs=(),
        serves=_serves(NORM),
    ),
)

PLAN = Plan(
    kernels=(
        PlannedKernel(name="scale", path="kernels/scale", repo_id="golden/scale", version=2),
        PlannedKernel(name="norm", path="kernels/norm", repo_id="golden/norm", version=1),
    ),
    toolchains=TOOLCHAINS,
    cells=CELLS,
    units=UNITS,
)

IDENTITY = ToolchainIdentity(
    recipe="llvm",
    description="clang 22.1.8 and ld.lld of ziglang 0.17.1, cross-compiled without ROCm",
    compilers={"clang": "22.1.8", "ziglang": "0.17.1"},
    recipe_digest=of_bytes(b"golden recipe"),
)
HEADERS = HeadersOrigin(
    torch="2.13.0",
    wheel="torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    wheel_digest=of_bytes(b"golden wheel"),
    headers_digest=of_bytes(b"golden headers"),
    transferred=0,
    how="cache",
)


def build_record(unit: Unit, artifact: Digest, payload: Path) -> BuildRecord:
    """Return the record of a build that made a payload."""
    compiled = bool(unit.archs)
    files = tuple(
        PayloadFile(path=path.name, size=path.stat().st_size, digest=digest.of_file(path))
        for path in sorted(payload.iterdir())
    )
    return BuildRecord(
        unit=unit.id,
        inputs_digest=of_bytes(unit.id.encode()),
        artifact_digest=artifact,
        outcome=Outcome.PASSED,
        rocmatrix=__version__,
        uid=UIDS[unit.kernel],
        toolchain=IDENTITY if compiled else None,
        isolation=Isolation.HOST,
        headers=HEADERS if compiled else None,
        gates=(Gate(name="loads", passed=True, detail="dlopen with generated stubs"),) if compiled else (),
        started=STARTED,
        seconds=1.5,
        files=files,
        inputs=_inputs(unit),
    )


def failed_build_record(unit: Unit) -> BuildRecord:
    """Return the record of a build that failed."""
    return BuildRecord(
        unit=unit.id,
        inputs_digest=of_bytes(unit.id.encode()),
        artifact_digest=None,
        outcome=Outcome.FAILED,
        rocmatrix=__version__,
        uid=UIDS[unit.kernel],
        toolchain=IDENTITY,
        isolation=Isolation.HOST,
        headers=HEADERS,
        gates=(),
        started=STARTED,
        seconds=0.5,
        files=(),
        error=FAILED.strip(),
        error_code=ExitCode.BUILD,
        inputs=_inputs(unit),
    )


def _inputs(unit: Unit) -> InputDigests:
    return InputDigests(
        sources=of_bytes(unit.kernel.encode()),
        unit=of_bytes(unit.variant.encode()),
        toolchain=IDENTITY.recipe_digest if unit.archs else None,
        headers=HEADERS.headers_digest if unit.archs else None,
        recipe=of_bytes(b"golden"),
    )
