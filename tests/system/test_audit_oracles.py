"""The audit's readers against llvm-readelf and auditwheel on shared objects that no one here wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from auditwheel.architecture import Architecture  # type: ignore[import-untyped]
from auditwheel.libc import Libc  # type: ignore[import-untyped]
from auditwheel.wheel_abi import analyze_wheel_abi  # type: ignore[import-untyped]

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.rules import ceilings
from tests.system.audit_agreement import assert_readelf_agrees, binary_of
from tests.unit.binary.test_elf import FOREIGN

pytestmark = pytest.mark.needs_llvm_objdump

WHEELS = ("markupsafe", "greenlet", "lz4", "pyzmq")
"""Small wheels for manylinux with C and C++ in them, some with libraries of their own."""
SECONDS = 300.0


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_llvm_readelf_agrees_about_installed_packages(path: Path) -> None:
    assert_readelf_agrees(path)


# -- wheels --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Download wheels from the index that pip is configured with, whatever it is."""
    folder = tmp_path_factory.mktemp("wheels")
    options = ("--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--dest", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *WHEELS], check=True, timeout=SECONDS)
    return folder


@pytest.mark.needs_network
@pytest.mark.parametrize("name", WHEELS)
def test_auditwheel_and_readelf_agree_about_a_wheel(name: str, wheels: Path, tmp_path: Path) -> None:
    (wheel,) = wheels.glob(f"{name}-*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, tmp_path], check=True, timeout=SECONDS)
    paths = sorted(path for path in tmp_path.rglob("*.so*") if path.is_file())
    binaries = [binary_of(path) for path in paths]
    assert binaries
    for path in paths:
        assert_readelf_agrees(path)
    told = analyze_wheel_abi(
        Libc.GLIBC, Architecture.x86_64, wheel, frozenset(), disable_isa_ext_check=True, allow_graft=False
    )
    needs = {(need.library, need.version) for binary in binaries for need in binary.elf.version_needs}
    expected = {(library, version) for library, versions in told.versioned_symbols.items() for version in versions}
    assert {need for need in needs if not need[0].startswith("ld-linux")} == expected
    facts = VariantFacts(folder=False, binaries=tuple(binaries))
    found = list(ceilings.check(facts, Expectation(), load_policy()))
    limit = next(policy for policy in told.policies if policy.name == "manylinux_2_28_x86_64")
    assert (not found) == (told.sym_policy.priority >= limit.priority), [finding.what for finding in found]
