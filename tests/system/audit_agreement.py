"""Agreement of the audit's readers with independent ones: every field that both tell of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocmatrix.audit.facts import Binary, DeviceFile, VariantFacts
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.variant import read_file
from rocmatrix.binary.facts import CodeObject
from rocmatrix.binary.kernel_facts import InstructionMix, Kernel
from tests.system import audit_oracles as oracle
from tests.unit.audit.loop_definition import by_definition

SMALL = 500
"""Instructions of a kernel whose loops are found by definition, too: that is quadratic."""


def facts_of(path: Path) -> VariantFacts:
    facts = read_file(path, load_policy().machines)
    assert facts.unreadable == ()
    return facts


def binary_of(path: Path) -> Binary:
    (binary,) = facts_of(path).binaries
    return binary


def assert_readelf_agrees(path: Path) -> None:
    """Compare everything that both tell of a shared object."""
    facts, told = binary_of(path).elf, oracle.shared_object(path)
    assert (facts.soname, list(facts.needed)) == (told.soname, told.needed)
    assert (facts.rpath, facts.runpath) == (told.rpath, told.runpath)
    assert [(s.name, s.defined, s.version, s.weak) for s in facts.symbols] == told.symbols
    assert {(need.library, need.version) for need in facts.version_needs} == told.needs
    asked = {(symbol.library, symbol.version) for symbol in facts.symbols if symbol.version is not None}
    assert asked <= told.needs
    assert facts.build_id == told.build_id
    assert facts.executable_stack == told.executable_stack
    assert facts.relro.value == told.relro
    assert facts.text_relocations == told.text_relocations


def device_file(path: Path) -> DeviceFile:
    (found,) = facts_of(path).device_files
    return found


def assert_notes_agree(found: CodeObject, path: Path) -> None:
    """Compare everything that both tell of a code object."""
    told = oracle.code_object(path)
    assert (found.problem, found.metadata_problem) == (None, None)
    assert found.version == told.abi_version + 2
    assert found.elf_arch in {flag.removeprefix("EF_AMDGPU_MACH_AMDGCN_").lower() for flag in told.flags} | told.flags
    for feature in ("sramecc", "xnack"):
        pinned = {mark for mark in "+-" if f"{feature}{mark}" in told.flags}
        assert {item[-1] for item in found.elf_features if item.startswith(feature)} == pinned
    assert found.target == told.metadata.get("amdhsa.target")
    assert [_as_metadata(kernel) for kernel in found.kernels] == [
        _known(kernel) for kernel in told.metadata["amdhsa.kernels"]
    ]


_KEYS = {
    ".name", ".symbol", ".vgpr_count", ".agpr_count", ".sgpr_count", ".vgpr_spill_count", ".sgpr_spill_count",
    ".group_segment_fixed_size", ".private_segment_fixed_size", ".uses_dynamic_stack", ".max_flat_workgroup_size",
    ".reqd_workgroup_size", ".wavefront_size", ".kernarg_segment_size", ".kernarg_segment_align", ".args",
}  # fmt: skip
_ARGUMENT = {".offset", ".size", ".value_kind", ".name", ".address_space"}


def _known(kernel: dict[str, Any]) -> dict[str, Any]:
    """Return what the facts have a place for, of a kernel as the tool prints it."""
    known = {key: value for key, value in kernel.items() if key in _KEYS and value != []}
    if ".args" in known:
        known[".args"] = [{key: value for key, value in row.items() if key in _ARGUMENT} for row in known[".args"]]
    return known


def _as_metadata(kernel: Kernel) -> dict[str, object]:
    """Return a kernel as the metadata spells it."""
    arguments = [
        {
            ".offset": argument.offset,
            ".size": argument.size,
            ".value_kind": argument.kind,
            **({".name": argument.name} if argument.name else {}),
            **({".address_space": argument.address_space} if argument.address_space else {}),
        }
        for argument in kernel.arguments
    ]
    said: dict[str, object] = {
        ".name": kernel.name,
        ".symbol": kernel.symbol,
        ".vgpr_count": kernel.vgprs,
        ".agpr_count": kernel.agprs,
        ".sgpr_count": kernel.sgprs,
        ".vgpr_spill_count": kernel.vgpr_spills,
        ".sgpr_spill_count": kernel.sgpr_spills,
        ".group_segment_fixed_size": kernel.lds,
        ".private_segment_fixed_size": kernel.scratch,
        ".uses_dynamic_stack": kernel.dynamic_stack,
        ".max_flat_workgroup_size": kernel.max_workgroup,
        ".reqd_workgroup_size": list(kernel.required_workgroup) if kernel.required_workgroup else None,
        ".wavefront_size": kernel.wavefront,
        ".kernarg_segment_size": kernel.kernarg_size,
        ".kernarg_segment_align": kernel.kernarg_align,
        ".args": arguments or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def counted(mix: InstructionMix) -> dict[str, int]:
    named = {
        name: getattr(mix, name) for name in ("valu", "salu", "lds", "vmem", "smem", "barriers", "waits", "branches")
    }
    counts = {**named, "other": mix.other, "matrix": sum(mix.matrix.values())}
    return {name: count for name, count in counts.items() if count}


def assert_objdump_agrees(kernel: Kernel, lines: list[oracle.Line]) -> None:
    """Compare counts of instructions, and the hot loop by its definition where the kernel is small."""
    assert kernel.instructions is not None, kernel.unread
    assert counted(kernel.instructions) == dict(oracle.classes(lines))
    matrix = [line.name for line in lines if line.name.startswith(("v_mfma", "v_smfmac"))]
    assert kernel.instructions.matrix == {name: matrix.count(name) for name in sorted(set(matrix))}
    if len(lines) > SMALL:
        return
    loops = [[lines[number] for number in body] for _, body in by_definition(lines)]
    if kernel.hot_loop is None:
        assert loops == []
        return
    hot = kernel.hot_loop
    (body,) = [
        body
        for body in loops
        if (body[0].address, body[-1].address, len(body)) == (hot.address, hot.end, hot.instructions)
    ]
    assert counted(hot.mix) == dict(oracle.classes(body))
    weights = [oracle.classes(loop)["matrix"] for loop in loops]
    assert oracle.classes(body)["matrix"] == min(max(weights), oracle.classes(body)["matrix"])
