"""The audit on binaries that a real compiler and linker made: a good one passes, each control fails by its own rule."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernels._rust import Digest, DigestAlgorithm, Metadata

from rocmatrix import document
from rocmatrix.audit.path import audit_path
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.stage import audit_units
from rocmatrix.digest import of_file
from rocmatrix.events import discard
from rocmatrix.plan.model import Plan
from rocmatrix.records import AuditRecord, BuildRecord, Outcome, PayloadFile, Severity
from rocmatrix.store import Store
from tests.system.audit_controls import EXTENSION, SO, Recipe, Workshop, package, zig
from tests.unit.conftest import UNIT, build_record
from tests.unit.conftest import plan as plan  # noqa: PLC0414 - the fixture

pytestmark = pytest.mark.needs_llvm

GOOD = Recipe()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(parts=tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def good(workshop: Workshop) -> Path:
    return workshop.build(workshop.parts / "good", GOOD)


def audited(tmp_path: Path, plan: Plan, shared_object: Path) -> AuditRecord:
    """Audit a payload around an extension, as the stage does after a build."""
    store = Store(tmp_path / "dist")
    package(store.work / "payload", shared_object)
    return audit_payload(store, plan)


def audit_payload(store: Store, plan: Plan) -> AuditRecord:
    artifact = store.replace_payload(UNIT, store.work / "payload")
    payload = store.payload(UNIT)
    files = tuple(
        PayloadFile(path=path.name, size=path.stat().st_size, digest=of_file(path)) for path in payload.iterdir()
    )
    store.write_record(replace(build_record(artifact), files=files))
    records = audit_units(plan.units, plan=plan, source_root=Path("nowhere"), store=store, emit=discard)
    assert isinstance(store.read_record(UNIT, BuildRecord), BuildRecord)
    return records[UNIT]


def test_a_good_stripped_extension_passes_every_rule(tmp_path: Path, plan: Plan, good: Path) -> None:
    record = audited(tmp_path, plan, good)
    assert record.findings == ()
    assert record.outcome is Outcome.PASSED
    (binary,) = record.binaries
    assert (binary.path, binary.archs) == (SO, ("gfx942",))
    assert binary.needed == ("libamdhip64.so.7", "libstdc++.so.6")
    assert binary.exports == (f"PyInit_{EXTENSION}",)
    assert binary.highest["CXXABI"] == "1.3"


CONTROLS: dict[str, tuple[Recipe, str, str]] = {
    "an arch is missing": (
        replace(GOOD, archs=(("gfx90a", "gfx90a"),)),
        "archs",
        "gfx942 was promised, but 1 of 1 offload bundles have no code for every gfx942",
    ),
    "no GPU code at all": (replace(GOOD, archs=()), "archs", "no offload bundle"),
    "an arch that metadata would not list": (
        replace(GOOD, archs=(("gfx942", "gfx942"), ("gfx950", "gfx950"))),
        "archs",
        "the binary has code for gfx950, which nobody promised",
    ),
    "code of another arch under the promised id": (
        replace(GOOD, archs=(("gfx942", "gfx90a"),)),
        "archs",
        "the entry says gfx942, but the code object's own ELF flags say gfx90a",
    ),
    "code that pins xnack under an id that does not": (
        replace(GOOD, archs=(("gfx942", "gfx942:xnack+"),)),
        "archs",
        "the entry says no features, but the code object's own ELF flags say xnack+",
    ),
    "a glibc function that is too new": (
        replace(GOOD, glibc="2.36", declare="extern unsigned arc4random(void);", use="device += arc4random();"),
        "version-ceilings",
        "GLIBC_2.36 is asked for, but manylinux_2_28 systems have GLIBC_2.28 at most",
    ),
    "a C++ library that is too new": (
        replace(
            GOOD,
            libraries=(("libstdc++.so.6", "newer", "GLIBCXX_3.4.32"),),
            declare="extern int newer();",
            use="device += newer();",
        ),
        "version-ceilings",
        "GLIBCXX_3.4.32 is asked for",
    ),
    "the HIP runtime of another ROCm": (
        replace(GOOD, hip="libamdhip64.so.6"),
        "needed",
        "it needs libamdhip64.so.6, but the HIP runtime of this ROCm is libamdhip64.so.7",
    ),
    "a library that users do not have": (
        replace(
            GOOD,
            libraries=(*GOOD.libraries, ("libck_host.so.1", "extra", "CK_1")),
            declare="extern int extra();",
            use="device += extra();",
        ),
        "needed",
        "it needs libck_host.so.1, which users do not get with torch",
    ),
    "a RUNPATH": (
        replace(GOOD, link=("-Wl,-rpath,/opt/rocm/lib", "-Wl,--enable-new-dtags")),
        "runpath",
        "the loader would look for libraries in '/opt/rocm/lib'",
    ),
    "an RPATH": (
        replace(GOOD, link=("-Wl,-rpath,/opt/rocm/lib", "-Wl,--disable-new-dtags")),
        "runpath",
        "the loader would look for libraries in '/opt/rocm/lib'",
    ),
    "a function that came with Python 3.10": (
        replace(
            GOOD,
            declare="extern void *PyUnicode_AsUTF8AndSize();",
            use="if (device) return PyUnicode_AsUTF8AndSize();",
        ),
        "abi3",
        "PyUnicode_AsUTF8AndSize is not in the stable ABI of Python 3.9",
    ),
    "a private function of Python": (
        replace(GOOD, declare="extern void *_PyObject_GetDictPtr();", use="if (device) return _PyObject_GetDictPtr();"),
        "abi3",
        "_PyObject_GetDictPtr is not in the stable ABI of Python 3.9",
    ),
    "a second export": (
        replace(GOOD, exports="*", declare='__attribute__((visibility("default"))) int helper(void) { return 1; }'),
        "abi3",
        f"it exports more than PyInit_{EXTENSION}: helper",
    ),
    "an entry of another name": (
        replace(GOOD, name="_gemm_rocm_ffffffff"),
        "abi3",
        f"PyInit_{EXTENSION} is not exported",
    ),
}


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_fails_by_its_own_rule_and_no_other(
    tmp_path: Path, plan: Plan, workshop: Workshop, control: str
) -> None:
    recipe, rule, what = CONTROLS[control]
    record = audited(tmp_path, plan, workshop.build(tmp_path / "work", recipe))
    assert record.outcome is Outcome.FAILED
    assert {finding.rule for finding in record.findings} == {rule}
    assert any(what in finding.what for finding in record.findings), record.findings


@pytest.mark.parametrize("control", CONTROLS)
def test_stripping_hides_nothing(tmp_path: Path, workshop: Workshop, control: str) -> None:
    recipe = CONTROLS[control][0]
    stripped = workshop.build(tmp_path / "stripped", recipe)
    whole = workshop.build(tmp_path / "whole", replace(recipe, strip=False))
    assert stripped.stat().st_size < whole.stat().st_size
    said = [[(found.rule, found.what) for found in audit_path(path).findings] for path in (stripped, whole)]
    assert said[0] == [one for one in said[1] if one[0] != "build-paths"]  # a symbol table names the sources


def test_an_ops_module_of_another_build_fails(tmp_path: Path, plan: Plan, good: Path) -> None:
    store = Store(tmp_path / "dist")
    package(store.work / "payload", good)
    ops = store.work / "payload" / "_ops.py"
    ops.write_text(ops.read_text().replace("0123abcd", "ffffffff"))
    assert {finding.rule for finding in audit_payload(store, plan).findings} == {"names"}


@pytest.fixture
def collected(tmp_path: Path, good: Path) -> Path:
    """A variant directory as it goes to the Hub, its metadata made by hand and its digests by the client."""
    folder = tmp_path / "build" / "torch-stable-abi210-rocm72-x86_64-linux"
    package(folder, good)
    metadata = {
        "name": "gemm",
        "id": EXTENSION,
        "version": 1,
        "license": "Apache-2.0",
        "python-depends": [],
        "backend": {"type": "rocm", "archs": ["gfx942"]},
        "digest": {"algorithm": "sha256", "files": Digest.hash_variant(DigestAlgorithm.SHA256, folder).files},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    Metadata.read_from_file(folder / "metadata.json")
    return folder


def test_a_collected_variant_passes_by_its_own_name_and_metadata(collected: Path) -> None:
    found = audit_path(collected)
    assert found.findings == ()
    assert found.binaries[0].archs == ("gfx942",)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"gfx942"', '"gfx942", "gfx950"', "archs"),
        ('"gfx942"', "", "archs"),
        (f'"id": "{EXTENSION}"', '"id": "_gemm_rocm_ffffffff"', "names"),
        ('"name": "gemm"', '"name": "Gemm"', "names"),
    ],
)
def test_metadata_that_is_not_true_fails(collected: Path, old: str, new: str, rule: str) -> None:
    path = collected / "metadata.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert {finding.rule for finding in audit_path(collected).findings} == {rule}


@pytest.mark.parametrize("name", ["__init__.py", SO])
def test_a_file_that_was_changed_after_collecting_fails(collected: Path, name: str) -> None:
    with (collected / name).open("ab") as stream:
        stream.write(b"\n")
    (finding,) = audit_path(collected).findings
    assert finding.what == f"{name} does not have the bytes that metadata.json speaks of"


def test_the_directory_of_another_rocm_fails_by_the_runtimes_soname(collected: Path) -> None:
    other = collected.with_name("torch-stable-abi210-rocm64-x86_64-linux")
    collected.rename(other)
    (finding,) = audit_path(other).findings
    assert finding.rule == "needed"
    assert "the HIP runtime of this ROCm is libamdhip64.so.6" in finding.what


def test_a_single_shared_object_is_audited_without_names_around_it(tmp_path: Path, good: Path) -> None:
    alone = tmp_path / SO
    alone.write_bytes(good.read_bytes())
    assert audit_path(alone).findings == ()
    alone.write_bytes(good.read_bytes()[:-9000])
    (finding,) = audit_path(alone).findings
    assert (finding.rule, finding.severity) == ("readable", Severity.ERROR)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=5000, max_examples=300)
@given(st.data())
def test_a_good_file_with_changed_bytes_is_audited_or_refused(tmp_path: Path, good: Path, data: st.DataObject) -> None:
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    changed = tmp_path / SO
    changed.write_bytes(content)
    document.to_json(audit_path(changed))


def test_the_loader_refuses_what_the_ceilings_refuse(tmp_path: Path, workshop: Workshop) -> None:
    """The dynamic loader itself is the oracle: a version that libc.so.6 lacks stops the load before anything runs."""
    libraries = (*GOOD.libraries, ("libc.so.6", "from_the_future", "GLIBC_2.99"))
    recipe = replace(
        GOOD, libraries=libraries, declare="extern int from_the_future();", use="device += from_the_future();"
    )
    made = workshop.build(tmp_path / "work", recipe)
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    hip = workshop.stub(GOOD.hip, "hipGetDevice", None).parent
    done = subprocess.run(
        [sys.executable, "-c", load, made],
        env={"LD_LIBRARY_PATH": str(hip)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "GLIBC_2.99' not found" in done.stderr
    assert "version-ceilings" in {finding.rule for finding in audit_path(made).findings}


@pytest.mark.parametrize(("number", "arch"), sorted(load_policy().machines.items()))
def test_the_compiler_writes_the_machine_numbers_of_the_policy(tmp_path: Path, number: int, arch: str) -> None:
    (tmp_path / "empty.s").write_text(".text\n")
    made = tmp_path / "empty.o"
    zig("clang", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", tmp_path / "empty.s", "-o", made)
    assert made.read_bytes()[48] == number
