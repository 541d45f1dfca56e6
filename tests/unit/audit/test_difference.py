"""What differs between two audits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocmatrix.audit.difference import AuditDifference, ValueChange, difference
from rocmatrix.audit.kernel_audit import AuditSet
from rocmatrix.audit.path import PathAudit
from rocmatrix.binary.facts import Bundle, DynamicSymbol, Relro
from rocmatrix.binary.kernel_facts import Kernel
from rocmatrix.records import BinaryFacts, Outcome
from tests.unit.audit.samples import code
from tests.unit.audit.test_rules_device import kernel

GEMM = kernel("gemm", None)


def binary(path: str = "a.so", *codes: Any, **changes: Any) -> BinaryFacts:
    bundles = (Bundle(offset=0, code_objects=codes or (code(kernels=(GEMM,)),)),)
    good = BinaryFacts(
        path=path,
        archs=("gfx942",),
        needed=("libc.so.6",),
        highest={},
        exports=("PyInit_a",),
        size=1000,
        undefined=(DynamicSymbol(name="memcpy", defined=False, version="GLIBC_2.14", library="libc.so.6"),),
        bundles=bundles,
    )
    return replace(good, **changes)


def audited(*binaries: BinaryFacts, name: str = "x") -> PathAudit:
    return PathAudit(path=f"build/{name}", outcome=Outcome.PASSED, rules=(), binaries=binaries, findings=())


def set_of(*audits: PathAudit, path: str = "p") -> AuditSet:
    return AuditSet(path=path, outcome=Outcome.PASSED, audits=audits)


def between(after: BinaryFacts, before: BinaryFacts) -> AuditDifference:
    return difference(set_of(audited(after, name="a")), set_of(audited(before, name="b")))


def test_two_equal_artifacts_do_not_differ() -> None:
    found = between(binary(), binary())
    assert (found.same, found.compared, found.files) == (True, 1, ())


def test_lone_binaries_of_other_names_stand_for_each_other() -> None:
    found = between(binary("_a_1.so"), binary("_a_2.so"))
    assert found.same


def test_symbols_libraries_versions_and_exports_are_lists() -> None:
    newer = DynamicSymbol(name="arc4random", defined=False, version="GLIBC_2.36", library="libc.so.6")
    after = binary(needed=("libc.so.6", "libz.so.1"), undefined=(newer,), exports=("PyInit_a", "helper"))
    (file,) = between(after, binary()).files
    changed = {one.name: (one.removed, one.added) for one in file.lists}
    assert changed == {
        "NEEDED": ((), ("libz.so.1",)),
        "version needs": (("libc.so.6: GLIBC_2.14",), ("libc.so.6: GLIBC_2.36",)),
        "symbols asked for": (("memcpy",), ("arc4random",)),
        "symbols offered": ((), ("helper",)),
    }


def test_sizes_and_properties_are_values() -> None:
    (file,) = between(binary(size=1500, relro=Relro.NONE, runpath="$ORIGIN"), binary()).files
    assert [(one.name, one.before, one.after) for one in file.values] == [
        ("size", "1000", "1500"),
        ("RUNPATH", "unknown", "$ORIGIN"),
        ("RELRO", "full", "none"),
    ]


def test_archs_and_kernels_that_come_and_go() -> None:
    after = binary("a.so", code("gfx950", kernels=(GEMM,)))
    (file,) = between(after, binary()).files
    changed = {one.name: (one.removed, one.added) for one in file.lists}
    assert changed == {
        "archs": (("gfx942",), ("gfx950",)),
        "kernels": (("gemm for gfx942",), ("gemm for gfx950",)),
    }


def test_what_changed_in_a_kernel() -> None:
    def with_kernel(changed: Kernel) -> BinaryFacts:
        return binary("a.so", code(kernels=(changed,)))

    (file,) = between(with_kernel(replace(GEMM, vgprs=128, lds=4096, vgpr_spills=3)), binary()).files
    (changed,) = file.kernels
    assert (changed.kernel, changed.arch) == ("gemm", "gfx942")
    assert changed.values == (
        ValueChange(name="VGPR", before="8", after="128"),
        ValueChange(name="VGPR spills", before="0", after="3"),
        ValueChange(name="LDS", before="0", after="4096"),
    )


def test_variants_of_two_kernels_are_paired_by_name() -> None:
    after = set_of(audited(binary(), name="rocm71"), audited(binary(size=2), name="rocm72"))
    before = set_of(audited(binary(), name="rocm71"), audited(binary(), name="rocm64"))
    found = difference(after, before)
    assert (found.added, found.removed, found.compared, found.same) == (("rocm72",), ("rocm64",), 1, False)


def test_several_files_are_paired_by_path() -> None:
    after = set_of(audited(binary("a.so"), binary("b.so"), binary("c.so")))
    before = set_of(audited(binary("a.so", size=1)))
    found = difference(after, before)
    assert [file.after for file in found.files] == ["a.so"]
    assert found.added == ("b.so", "c.so")
