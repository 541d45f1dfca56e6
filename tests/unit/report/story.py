"""A run as it would be told: a plan like this repository's own, the events of its stages, and what they came to.

One unit fails to compile, one is reused, two are built; nothing can be tested.
"""

from collections.abc import Iterator
from pathlib import Path

from rocmatrix.digest import Digest, of_bytes
from rocmatrix.errors import ExitCode
from rocmatrix.events import (
    Event,
    Notice,
    RunStarted,
    Stage,
    State,
    Transfer,
    UnitFinished,
    UnitProgress,
    UnitStarted,
)
from rocmatrix.pipeline import Options, RunResult
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
    AuditRecord,
    BuildRecord,
    CheckRecord,
    Finding,
    Isolation,
    Outcome,
    PayloadFile,
    Severity,
    Tested,
    ToolchainIdentity,
)
from rocmatrix.report.board import Board
from rocmatrix.report.subject import Subject

PUBLISHED = {
    "2.10": ("7.0", "7.1"),
    "2.11": ("7.1", "7.2"),
    "2.12": ("7.1", "7.2"),
    "2.13": ("7.1", "7.2"),
    "2.14": ("7.14",),
}
ROCMS = ("7.0", "7.1", "7.2", "7.14")
FAILED_ROCM = "7.2"
REUSED_ROCM = "7.0"
ERROR = """gemm/gemm.hip:41:17: error: use of undeclared identifier '__builtin_amdgcn_mfma_f32_32x32x16_fp8_fp9'
   41 |     accumulator = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp9(a, b, accumulator, 0, 0, 0);
      |                   ^"""
UNTESTED = "nothing on this machine can execute gfx942 machine code"


def unit_id(rocm: str) -> UnitId:
    return UnitId(f"gemm.torch-stable-abi210-rocm{rocm.replace('.', '')}-x86_64-linux")


def make_plan() -> Plan:
    cells = tuple(_cell(torch, rocm) for torch in PUBLISHED for rocm in ROCMS)
    return Plan(
        kernels=(PlannedKernel(name="gemm", path="kernels/gemm", repo_id="rocmatrix/gemm", version=1),),
        toolchains=tuple(
            ToolchainSpec(
                id=ToolchainId(f"llvm-rocm{rocm}"), recipe="llvm", rocm=rocm, args={}, chosen_by="matrix.yaml"
            )
            for rocm in ROCMS
        ),
        cells=cells,
        units=tuple(
            Unit(
                id=unit_id(rocm),
                kernel="gemm",
                variant=unit_id(rocm).removeprefix("gemm."),
                abi=Abi.STABLE,
                torch="2.10",
                rocm=rocm,
                toolchain=ToolchainId(f"llvm-rocm{rocm}"),
                archs=("gfx942",),
                serves=tuple(cell.id for cell in cells if cell.unit == unit_id(rocm)),
            )
            for rocm in ROCMS
        ),
        warnings=("build.toml names gfx906, which ROCm 7.0 dropped",),
    )


def _cell(torch: str, rocm: str) -> Cell:
    name = CellId(f"gemm.torch{torch}-rocm{rocm}")
    common = {"id": name, "kernel": "gemm", "torch": torch, "rocm": rocm, "archs": ("gfx942",)}
    if (torch, rocm) == ("2.12", "7.1"):
        return Cell(
            **common,  # type: ignore[arg-type]  # a dictionary of several types
            state=CellState.EXCLUDED,
            reason_code=ReasonCode.EXCLUDED,
            reason="known to hang, see the issue",
            evidence=Evidence.VERIFIED,
        )
    if rocm in PUBLISHED[torch]:
        return Cell(
            **common,  # type: ignore[arg-type]  # a dictionary of several types
            state=CellState.SERVED,
            unit=unit_id(rocm),
            reason="the stable-ABI unit of level 2.10 serves torch 2.10 and later",
            evidence=Evidence.VERIFIED if torch != "2.14" else Evidence.UNVERIFIED,
        )
    return Cell(
        **common,  # type: ignore[arg-type]  # a dictionary of several types
        state=CellState.REFUSED,
        reason_code=ReasonCode.PAIR_UNKNOWN,
        reason=f"PyTorch published no torch {torch} for ROCm {rocm}",
        evidence=Evidence.VERIFIED,
    )


def events() -> Iterator[Event]:
    """The events of ``rocmatrix run`` on that plan, in an order in which they may come."""
    yield RunStarted(units=tuple(map(unit_id, ROCMS)), stages=tuple(Stage))
    yield Notice(level="warning", message="the checkout is dirty", where="kernels/gemm")
    yield UnitStarted(unit=unit_id("7.0"), stage=Stage.BUILD, reason="not done before")
    yield UnitFinished(
        unit=unit_id("7.0"), stage=Stage.BUILD, state=State.REUSED, reason="same inputs as before", seconds=0.02
    )
    yield UnitStarted(unit=unit_id("7.1"), stage=Stage.BUILD, reason="kernels/gemm/gemm/gemm.hip changed")
    yield UnitStarted(unit=unit_id("7.2"), stage=Stage.BUILD, reason="not done before")
    for received in (0, 1_200_000, 3_400_000):
        yield Transfer(what="headers of torch 2.13.0", received=received, total=3_400_000)
    for done in range(1, 5):
        yield UnitProgress(unit=unit_id("7.1"), stage=Stage.BUILD, done=done, total=5, step=f"step {done} of gemm.hip")
    yield UnitFinished(
        unit=unit_id("7.2"),
        stage=Stage.BUILD,
        state=State.FAILED,
        reason="gemm/gemm.hip:41:17: error: use of undeclared identifier",
        seconds=3.1,
        log="dist/units/gemm.torch-stable-abi210-rocm72-x86_64-linux/build.log",
        error=ERROR,
        exit_code=4,
    )
    yield _done("7.1", Stage.BUILD, State.DONE, "kernels/gemm/gemm/gemm.hip changed", 61.3)
    yield UnitStarted(unit=unit_id("7.14"), stage=Stage.BUILD, reason="not done before")
    yield _done("7.14", Stage.BUILD, State.DONE, "not done before", 58.0)
    yield _done("7.2", Stage.AUDIT, State.SKIPPED, "its build failed", 0.0)
    for rocm in ("7.0", "7.1", "7.14"):
        yield UnitStarted(unit=unit_id(rocm), stage=Stage.AUDIT, reason="not done before")
        yield _done(rocm, Stage.AUDIT, State.DONE, "6 rules hold", 0.2)
    yield _done("7.2", Stage.CHECK, State.SKIPPED, "its build failed", 0.0)
    for rocm in ("7.0", "7.1", "7.14"):
        yield _done(rocm, Stage.CHECK, State.UNTESTED, UNTESTED, 0.0)


def _done(rocm: str, stage: Stage, state: State, reason: str, seconds: float) -> UnitFinished:
    return UnitFinished(unit=unit_id(rocm), stage=stage, state=state, reason=reason, seconds=seconds)


def played(upto: int | None = None) -> Board:
    """The board after the first events, one a second; all of them if no number is given."""
    board = Board()
    for second, event in enumerate(list(events())[:upto]):
        board.take(event, float(second))
    return board


def build_record(rocm: str) -> BuildRecord:
    failed = rocm == FAILED_ROCM
    return BuildRecord(
        unit=unit_id(rocm),
        inputs_digest=of_bytes(b"inputs"),
        artifact_digest=None if failed else artifact(rocm),
        outcome=Outcome.FAILED if failed else Outcome.PASSED,
        rocmatrix="0.1.0",
        uid="1a2b3c4d",
        toolchain=ToolchainIdentity(
            recipe="llvm",
            description="clang 22.1.8 of ziglang 0.17.1",
            compilers={"clang": "22.1.8"},
            recipe_digest=of_bytes(b"recipe"),
        ),
        isolation=Isolation.HOST,
        headers=None,
        gates=(),
        started="2026-11-29T00:00:00Z",
        seconds=61.3,
        files=() if failed else FILES,
        error=ERROR if failed else None,
        error_code=4 if failed else 0,
    )


FILES = (
    PayloadFile(path="_gemm_rocm_1a2b3c4d.abi3.so", size=43_210, digest=of_bytes(b"the shared object")),
    PayloadFile(path="__init__.py", size=1_790, digest=of_bytes(b"init")),
)


def artifact(rocm: str) -> Digest:
    return of_bytes(f"payload {rocm}".encode())


def audit_record(rocm: str) -> AuditRecord:
    finding = Finding(
        rule="glibc-ceiling",
        severity=Severity.WARNING,
        what="memfd_create needs GLIBC_2.27, close to the ceiling of 2.28",
        where="_gemm_rocm_1a2b3c4d.abi3.so: memfd_create",
        fix="Nothing now; do not use newer symbols.",
        source="manylinux_2_28",
    )
    return AuditRecord(
        unit=unit_id(rocm),
        inputs_digest=of_bytes(b"inputs"),
        artifact_digest=artifact(rocm),
        outcome=Outcome.PASSED,
        rocmatrix="0.1.0",
        started="2026-11-29T00:00:00Z",
        seconds=0.2,
        rules=("archs",),
        binaries=(),
        findings=(finding,) if rocm == "7.14" else (),
    )


def check_record(rocm: str) -> CheckRecord:
    return CheckRecord(
        unit=unit_id(rocm),
        inputs_digest=of_bytes(b"inputs"),
        artifact_digest=artifact(rocm),
        outcome=Outcome.PASSED,
        rocmatrix="0.1.0",
        started="2026-11-29T00:00:00Z",
        seconds=0.0,
        tested=Tested.UNTESTED,
        reason=UNTESTED,
        cases=(),
    )


def make_subject(*, matrix: Path = Path("matrix.yaml"), out: Path = Path("dist")) -> Subject:
    plan = make_plan()
    whole = [rocm for rocm in ROCMS if rocm != FAILED_ROCM]
    result = RunResult(
        plan=plan,
        units=plan.units,
        builds={unit_id(rocm): build_record(rocm) for rocm in ROCMS},
        audits={unit_id(rocm): audit_record(rocm) for rocm in whole},
        checks={unit_id(rocm): check_record(rocm) for rocm in whole},
        exit_code=ExitCode.BUILD,
        seconds=64.2,
    )
    options = Options(matrix=matrix, out=out)
    return Subject(command="run", options=options, result=result, board=played())


def failed_audit(rocm: str, error: str) -> tuple[Event, ...]:
    """The events of ``rocmatrix audit`` in which one unit fails."""
    unit = unit_id(rocm)
    return (
        RunStarted(units=(unit,), stages=(Stage.AUDIT,)),
        UnitFinished(
            unit=unit,
            stage=Stage.AUDIT,
            state=State.FAILED,
            reason="1 error",
            seconds=0.1,
            error=error,
            exit_code=ExitCode.AUDIT,
        ),
    )
