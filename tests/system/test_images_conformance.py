"""gemm by Debian's two hipcc: the audit finds what recipe.toml says that it must, all of it and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocmatrix.errors import ExitCode
from rocmatrix.images.image import Image
from rocmatrix.machine.cache import cache_folder
from rocmatrix.records import AuditRecord, Finding, Severity
from rocmatrix.store import Absent, Store
from tests.system.docker_bed import SUITES, debian_recipe

pytestmark = [pytest.mark.needs_debian_images, pytest.mark.needs_network]
ROOT = Path(__file__).parents[2]
LIMIT = 1200.0


@pytest.fixture(scope="module")
def audited(
    debian_images: Mapping[str, Image], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, list[Finding]]:
    """Build and audit the conformance matrix; the errors of the audit by suite."""
    assert set(debian_images) == set(SUITES)
    folder = tmp_path_factory.mktemp("conformance")
    shutil.copy(ROOT / "tests" / "system" / "debian-matrix.yaml", folder / "matrix.yaml")
    shutil.copytree(ROOT / "kernels" / "gemm", folder / "kernels" / "gemm")
    for verb, code in (("build", ExitCode.DONE), ("audit", ExitCode.AUDIT)):
        done = subprocess.run(
            [sys.executable, "-m", "rocmatrix", verb],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ROCMATRIX_CACHE": str(cache_folder())},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == code, f"{verb} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    store = Store(folder / "dist")
    plan = store.read_plan()
    suites = {spec.id: spec.args["SUITE"] for spec in plan.toolchains}
    found: dict[str, list[Finding]] = {}
    for unit in plan.units:
        assert unit.toolchain is not None
        record = store.read_record(unit.id, AuditRecord)
        assert not isinstance(record, Absent)
        found[suites[unit.toolchain]] = [one for one in record.findings if one.severity is Severity.ERROR]
    return found


@pytest.mark.parametrize("suite", SUITES)
def test_the_audit_finds_what_the_recipe_expects_and_nothing_else(
    suite: str, audited: Mapping[str, list[Finding]]
) -> None:
    expected = debian_recipe(suite).expected_findings
    unmet = [one for one in expected if not any(one.rule == it.rule and one.match in it.what for it in audited[suite])]
    surprising = [
        it.what for it in audited[suite] if not any(one.rule == it.rule and one.match in it.what for one in expected)
    ]
    assert (unmet, surprising) == ([], [])
