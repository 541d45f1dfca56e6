"""Binaries with one thing wrong each, made by a real compiler and linker, for the rules beyond ``test_audit.py``."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.audit.stage import audit_units
from rocmatrix.digest import of_file
from rocmatrix.events import discard
from rocmatrix.plan.audit_choice import AuditChoice, Waiver
from rocmatrix.plan.model import Plan
from rocmatrix.records import AuditRecord, Outcome, PayloadFile, Severity
from rocmatrix.store import Store
from tests.system.audit_controls import SO, Recipe, Workshop, package
from tests.unit.audit.test_contents import SECRETS
from tests.unit.conftest import UNIT, build_record
from tests.unit.conftest import plan as plan  # noqa: PLC0414 - the fixture

pytestmark = pytest.mark.needs_llvm

TORCH = "libtorch_cpu.so"
GOOD = Recipe()
LIBSTDCXX = GOOD.libraries
MFMA = """
typedef float v4 __attribute__((ext_vector_type(4)));
__attribute__((amdgpu_kernel)) void %s(__attribute__((address_space(1))) v4 *c, long a, long b) {
  c[0] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c[0], 0, 0, 0);
}
"""
ERROR, WARNING = Severity.ERROR, Severity.WARNING


def text(content: str) -> Recipe:
    """Return the good extension with a text in its data."""
    return replace(GOOD, declare=f'static const char *volatile message = "{content}";', use="if (device) message = 0;")


def asking(symbol: str) -> Recipe:
    """Return the good extension that asks torch for a symbol."""
    return replace(
        GOOD,
        libraries=(*LIBSTDCXX, (TORCH, symbol, "TORCH")),
        declare=f"extern int {symbol}();",
        use=f"device += {symbol}();",
    )


CONTROLS: dict[str, tuple[Recipe, str, Severity, str]] = {
    "a kernel of OCP FP8 on an FNUZ processor": (
        replace(GOOD, kernel=MFMA % "_Z4gemmPK14__hip_fp8_e4m3"),
        "fp8-flavour",
        ERROR,
        "takes OCP FP8, but matrix instructions of gfx942 read FNUZ FP8",
    ),
    "a binding that takes OCP FP8 alone": (
        replace(text("a must be torch.float8_e4m3fn"), kernel=MFMA % "gemm"),
        "fp8-flavour",
        ERROR,
        "only dtypes of OCP FP8 are named, but the matrix instructions for gfx942 read FNUZ FP8",
    ),
    "a function of a later torch": (asking("torch_from_blob"), "torch-abi", ERROR, "came with torch 2.11"),
    "a symbol of torch's C++": (asking("_ZNK2at6Tensor3dimEv"), "torch-abi", ERROR, "torch's C++ namespaces"),
    "a C++ runtime of its own": (
        replace(
            GOOD,
            strip=False,
            declare="__attribute__((noinline)) void __cxa_throw(int *a) { *a += 1; }",
            use="__cxa_throw(&device);",
        ),
        "cxx-runtime",
        ERROR,
        "it has a C++ runtime of its own (__cxa_throw)",
    ),
    "relocations of its code": (
        replace(
            GOOD,
            link=("-Wl,-z,notext",),
            declare='__asm__(".text\\n.quad message\\n"); __attribute__((used)) static int message;',
        ),
        "hardening",
        ERROR,
        "the loader has to write into its code",
    ),
    "no RELRO": (replace(GOOD, link=("-Wl,-z,norelro",)), "hardening", WARNING, "no RELRO"),
    "a token": (
        text(SECRETS["Hugging Face token"].decode()),
        "secrets",
        ERROR,
        "looks like a Hugging Face token (hf_...)",
    ),
    "a path of the build": (text("/home/ann/gemm/gemm.hip"), "build-paths", ERROR, "/home/ann/gemm/gemm.hip"),
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(parts=tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def good(workshop: Workshop) -> Path:
    return workshop.build(workshop.parts / "good", GOOD)


def audited(
    folder: Path, plan: Plan, shared_object: Path, choice: AuditChoice | None = None, **files: str
) -> AuditRecord:
    """Audit a payload around an extension as the stage does; ``files``: Python sources by the name of their module."""
    store = Store(folder / "dist")
    payload = store.work / "payload"
    package(payload, shared_object)
    for module, content in files.items():
        (payload / f"{module}.py").write_text(content)
    artifact = store.replace_payload(UNIT, payload)
    recorded = tuple(
        PayloadFile(path=path.name, size=path.stat().st_size, digest=of_file(path))
        for path in store.payload(UNIT).iterdir()
    )
    store.write_record(replace(build_record(artifact), files=recorded))
    if choice:
        plan = replace(plan, kernels=tuple(replace(kernel, audit=choice) for kernel in plan.kernels))
    return audit_units(plan.units, plan=plan, source_root=Path("nowhere"), store=store, emit=discard)[UNIT]


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_fails_by_its_own_rule_and_no_other(
    tmp_path: Path, plan: Plan, workshop: Workshop, control: str
) -> None:
    recipe, rule, severity, what = CONTROLS[control]
    record = audited(tmp_path, plan, workshop.build(tmp_path / "work", recipe))
    findings = [one for one in record.findings if recipe.strip or one.rule != "build-paths"]
    assert {(one.rule, one.severity) for one in findings} == {(rule, severity)}, findings
    assert any(what in one.what for one in findings), findings
    assert (record.outcome is Outcome.FAILED) == (severity is ERROR or not recipe.strip)


@pytest.mark.parametrize(
    "recipe",
    [
        replace(GOOD, kernel=MFMA % "_Z4gemmPK19__hip_fp8_e4m3_fnuz"),
        replace(text("torch.float8_e4m3fnuz"), kernel=MFMA % "gemm"),
        replace(text("torch.float8_e4m3fnuz, not torch.float8_e4m3fn"), kernel=MFMA % "gemm"),
        asking("torch_library_impl"),
        text("/usr/lib/x86_64-linux-gnu hf_hub_download"),
    ],
)
def test_what_is_right_passes(tmp_path: Path, plan: Plan, workshop: Workshop, recipe: Recipe) -> None:
    assert audited(tmp_path, plan, workshop.build(tmp_path / "work", recipe)).findings == ()


SOURCES = {
    "x = 1\nmatch x:\n    case 1: ...\n": ("python", "Python 3.9 cannot load this"),
    "from gemm import other\n": ("python", "it imports gemm by its absolute name"),
    "import torch\ntorch.ops.gemm.gemm()\n": ("ops-namespace", "torch.ops.gemm"),
    "import torch\n@torch.library.register_fake('gemm::gemm')\ndef f(): ...\n": ("ops-namespace", "'gemm::gemm'"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_that_the_client_cannot_load_fails(tmp_path: Path, plan: Plan, good: Path, source: str) -> None:
    rule, what = SOURCES[source]
    (finding,) = audited(tmp_path, plan, good, layers=source).findings
    assert (finding.rule, finding.severity) == (rule, ERROR)
    assert what in finding.what


def test_an_executable_stack_fails_asked_for_or_by_silence(tmp_path: Path, plan: Plan, good: Path) -> None:
    """The linker at hand makes neither, so that the header is changed as ``execstack -s`` does, and taken away."""
    for name, change in (("asked", _executable), ("silent", _no_stack_header)):
        made = tmp_path / name / SO
        made.parent.mkdir()
        made.write_bytes(change(good.read_bytes()))
        (finding,) = audited(tmp_path / name, plan, made).findings
        assert (finding.rule, finding.severity) == ("hardening", ERROR)
        assert "stacks of the whole process executable" in finding.what


def _executable(content: bytes) -> bytes:
    place = _stack_header(content)
    (flags,) = struct.unpack_from("<I", content, place + 4)
    return content[: place + 4] + struct.pack("<I", flags | 1) + content[place + 8 :]


def _no_stack_header(content: bytes) -> bytes:
    place = _stack_header(content)
    return content[:place] + struct.pack("<I", 0) + content[place + 4 :]  # PT_NULL


def _stack_header(content: bytes) -> int:
    """Return where the program header PT_GNU_STACK begins."""
    start, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    return next(
        place for place in range(start, start + size * count, size) if content[place : place + 4] == b"\x51\xe5\x74\x64"
    )


def test_a_file_beyond_its_budget_fails_and_a_waiver_with_a_reason_lets_it_pass(
    tmp_path: Path, plan: Plan, good: Path
) -> None:
    small = AuditChoice(max_file_size=good.stat().st_size - 1)
    record = audited(tmp_path / "small", plan, good, small)
    assert [(one.rule, one.where) for one in record.findings] == [("size", SO)]
    waiver = Waiver(rule="size", reason="one arch more", where="matrix.yaml:5")
    record = audited(tmp_path / "waived", plan, good, replace(small, waive=(waiver,)))
    assert (record.outcome, record.findings) == (Outcome.PASSED, ())
    assert [(one.finding.rule, one.reason) for one in record.waived] == [("size", "one arch more")]


def test_a_stale_waiver_fails_a_good_unit(tmp_path: Path, plan: Plan, good: Path) -> None:
    waiver = Waiver(rule="needed", reason="x", where="matrix.yaml:5")
    record = audited(tmp_path, plan, good, AuditChoice(waive=(waiver,)))
    assert record.outcome is Outcome.FAILED
    assert [(one.rule, one.where) for one in record.findings] == [("waivers", "matrix.yaml:5")]
