"""Write ``tests/golden/dist`` anew: ``python -m tests.golden.make_dist`` in the repository's folder.

Two kernels. ``scale`` is compiled: its units for ROCm 7.1 (emulated) and 7.2 (untested) are collected, the build for
7.14 failed, one cell is refused and one excluded. ``norm`` has no compiled code and is complete. The shared objects are
real and small: gfx942 code in an offload bundle, an importable module, no C++. What a build or an emulator would record
is written down in ``content.py``; audits, coverage and metadata are what rocmatrix itself makes of it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rocmatrix import digest
from rocmatrix.audit.stage import audit_units
from rocmatrix.build import ops_module
from rocmatrix.check.stage import check_units
from rocmatrix.collect.stage import collect_kernels
from rocmatrix.events import discard
from rocmatrix.plan.extension import EXTENSION_SUFFIX, OPS_NAME, extension_name
from rocmatrix.plan.model import Unit
from rocmatrix.records import CaseResult, CheckRecord, Tested
from rocmatrix.store import Store
from rocmatrix.toolchain.bundle import write_bundle
from tests.golden.content import (
    EMULATED,
    FAILED,
    NOT_BUILT,
    PLAN,
    PROJECTS,
    STARTED,
    UIDS,
    build_record,
    failed_build_record,
)

DIST = Path(__file__).with_name("dist")
SOURCES = Path(__file__).with_name("sources")
ZIG = (sys.executable, "-m", "ziglang")


def main() -> None:
    """Make the folder in a temporary place, and put it where the tests read it."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        root = _write_projects(work / "source")
        store = Store(work / "dist")
        store.write_plan(PLAN)
        library = _compile(work)
        for unit in PLAN.units:
            _build(store, unit, library)
        built = [unit for unit in PLAN.units if unit.id not in NOT_BUILT]
        for audit in audit_units(built, plan=PLAN, source_root=root, store=store, emit=discard).values():
            store.write_record(replace(audit, started=STARTED, seconds=0.1))
        for check in check_units(built, plan=PLAN, source_root=root, store=store, emit=discard).records.values():
            store.write_record(_settled(check))
        collect_kernels(PLAN, source_root=root, store=store, emit=discard)
        shutil.rmtree(store.work)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(store.root, DIST)


def _write_projects(root: Path) -> Path:
    """Write the kernels' manifests into a git repository whose commit is the same every time."""
    for path, manifest in PROJECTS.items():
        (root / path).mkdir(parents=True)
        (root / path / "build.toml").write_text(manifest)
    person = {"NAME": "Golden", "EMAIL": "golden@example.org", "DATE": STARTED}
    identity = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    for arguments in (("init", "-q", "--object-format=sha1"), ("add", "."), ("commit", "-qm", "Golden sources")):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True)
    return root


def _compile(work: Path) -> bytes:
    """Return the shared object of ``scale``: an importable module with gfx942 code in it."""

    def zig(*arguments: str) -> None:
        subprocess.run([*ZIG, *arguments], cwd=work, check=True, timeout=300)

    device = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-O2")
    zig("clang", *device, "-c", str(SOURCES / "scale.c"), "-o", "scale.o")
    zig("ld.lld", "-shared", "scale.o", "-o", "scale.co")
    (work / "scale.hipfb").write_bytes(write_bundle([("gfx942", (work / "scale.co").read_bytes())]))
    host = ("-target", "x86_64-linux-gnu.2.28", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-s")
    zig("cc", *host, "-Wl,-soname,libamdhip64.so.7", str(SOURCES / "hip_stub.c"), "-o", "libamdhip64.so")
    zig("cc", *host, "-Wl,--no-as-needed", str(SOURCES / "module.c"), "-L.", "-lamdhip64", "-o", "module.so")
    return (work / "module.so").read_bytes()


def _build(store: Store, unit: Unit, library: bytes) -> None:
    if unit.id in NOT_BUILT:
        store.write_record(failed_build_record(unit))
        store.build_log(unit.id).write_text(FAILED)
        return
    store.work.mkdir(parents=True, exist_ok=True)
    staged = store.work / "payload"
    shutil.copytree(SOURCES / unit.kernel, staged)
    extension = extension_name(unit.kernel, UIDS[unit.kernel])
    (staged / OPS_NAME).write_text(ops_module.text(extension, compiled=bool(unit.archs)))
    if unit.archs:
        (staged / f"{extension}{EXTENSION_SUFFIX}").write_bytes(library)
    store.write_record(build_record(unit, digest.of_folder(staged), staged))
    store.replace_payload(unit.id, staged)
    store.build_log(unit.id).write_text(f"built {unit.id}\n")


def _settled(record: CheckRecord) -> CheckRecord:
    """Return a record without this run's clock, and the one that an emulator would have written as if it had."""
    record = replace(record, started=STARTED, seconds=0.1)
    if record.unit != EMULATED:
        return record
    case = CaseResult(case="ones-64", passed=True, max_abs_error=0.0, max_rel_error=0.0, seconds=0.2)
    return replace(record, tested=Tested.EMULATED, reason="functional emulator", cases=(case,))


if __name__ == "__main__":
    main()
