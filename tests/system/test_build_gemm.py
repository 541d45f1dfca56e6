"""This repository's own kernel, compiled for real: the same bytes anywhere, and errors that name file and line."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.build.stage import build_units
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import ExitCode
from rocmatrix.machine.cache import cache_folder
from rocmatrix.pipeline import load_plan
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.records import BuildRecord, Outcome
from rocmatrix.store import Store
from rocmatrix.toolchain.registry import make_toolchain

pytestmark = [pytest.mark.needs_llvm, pytest.mark.needs_network]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Copy:
    """A copy of the matrix and of the kernel in a folder of its own."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Copy":
        shutil.copytree(ROOT / "kernels/gemm", root / "kernels/gemm")
        shutil.copy(ROOT / "matrix.yaml", root)
        return cls(root)

    @property
    def plan(self) -> Plan:
        return load_plan(self.root / "matrix.yaml", toolchain="llvm")

    def build(self, *units: Unit, jobs: int = 1) -> list[BuildRecord]:
        engine, plan, store = HostEngine(), self.plan, Store(self.root / "dist")
        cache = cache_folder()
        with store.exclusive():
            records = build_units(
                units,
                plan=plan,
                source_root=self.root,
                store=store,
                engines=dict.fromkeys((spec.id for spec in plan.toolchains), engine),
                toolchains={spec.id: make_toolchain(spec, engine=engine, cache=cache) for spec in plan.toolchains},
                emit=lambda _: None,
                jobs=jobs,
                use_cache=True,
                cache=cache,
            )
        return list(records.values())


def test_two_folders_and_two_rocm_versions_give_the_same_bytes(tmp_path: Path) -> None:
    here, there = Copy.make(tmp_path / "a"), Copy.make(tmp_path / "another folder, with spaces")
    (there.root / "kernels/gemm/README.md").write_text("other words\n")
    first, *_, last = here.plan.units
    built = [*here.build(first, last, jobs=2), *there.build(first)]
    assert [record.outcome for record in built] == [Outcome.PASSED] * 3, [record.error for record in built]
    assert len({record.uid for record in built}) == 1
    assert len({record.artifact_digest for record in built}) == 1
    assert all(gate.passed for record in built for gate in record.gates)
    assert all(record.headers for record in built)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("gemm/gemm.hip", "\nint broken = nothing;\n", "error: use of undeclared identifier 'nothing'"),
        ("torch-ext/torch_binding.cpp", '\n#include "nowhere.h"\n', "fatal error: 'nowhere.h' file not found"),
    ],
)
def test_a_compile_error_is_the_compilers_own_with_file_and_line(
    tmp_path: Path, file: str, text: str, message: str
) -> None:
    copy = Copy.make(tmp_path)
    source = copy.root / "kernels/gemm" / file
    lines = source.read_text().count("\n")
    source.write_text(source.read_text() + text)
    (record,) = copy.build(copy.plan.units[0])
    assert (record.outcome, record.error_code) == (Outcome.FAILED, ExitCode.BUILD)
    assert record.error is not None
    first = record.error.splitlines()[0]
    assert first.startswith(f"{file}:{lines + 2}:")
    assert first.endswith(message)
    assert str(tmp_path) not in record.error


def test_an_undefined_symbol_is_the_linkers_own_error(tmp_path: Path) -> None:
    copy = Copy.make(tmp_path)
    source = copy.root / "kernels/gemm/torch-ext/torch_binding.cpp"
    source.write_text(source.read_text() + "\nint nowhere(); int use_of_nowhere = nowhere();\n")
    (record,) = copy.build(copy.plan.units[0])
    assert record.outcome is Outcome.FAILED
    assert "undefined symbol" in (record.error or "").splitlines()[0]
    assert "nowhere" in (record.error or "")
