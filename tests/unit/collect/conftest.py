"""A kernel project and an output folder with what build, audit and check left of its units."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.collect.stage import collect_kernels
from rocmatrix.digest import Digest, of_bytes
from rocmatrix.events import Event
from rocmatrix.metadata import Metadata
from rocmatrix.plan.model import Abi, Cell, CellId, CellState, Evidence, Plan, Unit, UnitId
from rocmatrix.records import (
    AuditRecord,
    BinaryFacts,
    CaseResult,
    CheckRecord,
    Coverage,
    Finding,
    GpuRun,
    HeadersOrigin,
    Outcome,
    Severity,
    Tested,
    ToolchainIdentity,
)
from rocmatrix.store import Store
from tests.unit.conftest import UNIT, build_record

MANIFEST = """
[general]
name = "gemm"
version = 3
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
python-depends = ["einops"]
source = "https://example.org/kernels.git"

[torch]
stable-abi = "2.10"
src = ["torch-ext/torch_binding.cpp"]

[kernel.gemm]
backend = "rocm"
depends = ["torch"]
src = ["gemm.hip"]
"""
SECOND = UnitId("gemm.torch-stable-abi210-rocm714-x86_64-linux")
EXTENSION = "_gemm_rocm_0123abcd"
TOOLCHAIN = ToolchainIdentity(
    recipe="llvm",
    description="zig's clang 22.1.8, cross-compiled",
    compilers={"clang": "22.1.8", "ziglang": "0.17.1"},
    recipe_digest=of_bytes(b"recipe"),
    image_digest="sha256:never-in-metadata",
)
HEADERS = HeadersOrigin(
    torch="2.13.0",
    wheel="torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    wheel_digest="sha256:of-the-wheel",
    headers_digest=of_bytes(b"headers"),
    transferred=1_500_000,
    how="range requests",
)
CASE = CaseResult(case="small", passed=True, max_abs_error=0.0, max_rel_error=0.0, seconds=1.0)
GPU = GpuRun(
    name="AMD Instinct MI300X",
    product="MI300X",
    arch="gfx942:sramecc+:xnack-",
    memory=206_141_652_992,
    driver="amdgpu 6.16.13",
    torch="2.13.0+rocm7.2",
    hip="7.2.53211",
    cell=CellId("gemm.torch2.13-rocm7.2"),
    image="some/torch:2.13",
    image_id="sha256:0",
)


class Project:
    """Plays the stages before ``collect``, and runs it."""

    def __init__(self, root: Path, plan: Plan) -> None:
        self.root, self.plan = root, plan
        self.store = Store(root / "dist")
        self.folder = root / "kernels" / "gemm"
        self.folder.mkdir(parents=True)
        (self.folder / "build.toml").write_text(MANIFEST)
        self.events: list[Event] = []

    def build(self, unit: UnitId = UNIT, outcome: Outcome = Outcome.PASSED, error: str | None = None) -> Digest | None:
        self.store.work.mkdir(parents=True, exist_ok=True)
        artifact = None
        if outcome is Outcome.PASSED:
            staged = self.store.work / "staged"
            (staged / "data").mkdir(parents=True)
            (staged / "__init__.py").write_text(f"# built for {unit}\n")
            (staged / "data" / "table.bin").write_bytes(b"\0" * 100)
            (staged / f"{EXTENSION}.abi3.so").write_bytes(b"\x7fELF")
            artifact = self.store.replace_payload(unit, staged)
        record = replace(build_record(artifact, outcome), unit=unit, toolchain=TOOLCHAIN, headers=HEADERS, error=error)
        self.store.write_record(record)
        return artifact

    def audit(
        self,
        unit: UnitId = UNIT,
        outcome: Outcome = Outcome.PASSED,
        archs: tuple[tuple[str, ...], ...] = (("gfx942",), ()),
    ) -> None:
        artifact = self.store.payload_digest(unit)
        assert artifact
        finding = Finding(
            rule="needed", severity=Severity.ERROR, what="libfoo.so is not allowed", where="x", fix="y", source="z"
        )
        record = AuditRecord(
            unit=unit,
            inputs_digest=of_bytes(b"audit"),
            artifact_digest=artifact,
            outcome=outcome,
            rocmatrix="0.1.0",
            started="2026-11-29T00:00:00Z",
            seconds=0.1,
            rules=("needed",),
            binaries=tuple(BinaryFacts(path="x", archs=a, needed=(), highest={}, exports=()) for a in archs),
            findings=() if outcome is Outcome.PASSED else (finding,),
        )
        self.store.write_record(record)

    def check(self, unit: UnitId = UNIT, outcome: Outcome = Outcome.PASSED, tested: Tested = Tested.EMULATED) -> None:
        artifact = self.store.payload_digest(unit)
        assert artifact
        record = CheckRecord(
            unit=unit,
            inputs_digest=of_bytes(b"check"),
            artifact_digest=artifact,
            outcome=outcome,
            rocmatrix="0.1.0",
            started="2026-11-29T00:00:00Z",
            seconds=0.1,
            tested=tested,
            reason="by the emulator, functional mode",
            cases=() if tested is Tested.UNTESTED else (replace(CASE, passed=outcome is Outcome.PASSED),),
            gpu=GPU if tested in {Tested.MI300X, Tested.OTHER_GPU} else None,
        )
        self.store.write_record(record)

    def go_through(self, unit: UnitId = UNIT) -> None:
        self.build(unit)
        self.audit(unit)
        self.check(unit)

    def collect(self, plan: Plan | None = None) -> Coverage:
        self.events.clear()
        return collect_kernels(plan or self.plan, source_root=self.root, store=self.store, emit=self.events.append)[
            "gemm"
        ]

    def metadata_path(self, unit: UnitId = UNIT) -> Path:
        return self.store.variants_folder("gemm") / self.plan.unit(unit).variant / "metadata.json"

    def metadata(self, unit: UnitId = UNIT) -> Metadata:
        from rocmatrix import document  # noqa: PLC0415 - only here

        return document.from_json(self.metadata_path(unit).read_bytes(), Metadata)


@pytest.fixture
def project(tmp_path: Path, plan: Plan) -> Project:
    """Two units: one serves torch 2.13 on ROCm 7.2, the other torch 2.9 to 2.14 on ROCm 7.14; a refused cell."""
    cells = tuple(
        Cell(
            id=CellId(f"gemm.torch{torch}-rocm7.14"),
            kernel="gemm",
            torch=torch,
            rocm="7.14",
            archs=("gfx942",),
            state=CellState.SERVED,
            unit=SECOND,
            reason="the stable-ABI unit serves it",
            evidence=Evidence.VERIFIED,
        )
        for torch in ("2.14", "2.9", "2.10")
    )
    second = Unit(
        id=SECOND,
        kernel="gemm",
        variant=SECOND.partition(".")[2],
        abi=Abi.STABLE,
        torch="2.10",
        rocm="7.14",
        toolchain=plan.units[0].toolchain,
        archs=("gfx942",),
        serves=tuple(cell.id for cell in cells),
    )
    return Project(tmp_path, replace(plan, cells=(*plan.cells, *cells), units=(*plan.units, second)))
