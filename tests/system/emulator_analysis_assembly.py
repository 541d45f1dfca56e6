"""Assembly of gfx942 to code objects, many short kernels at once, for tests of the detectors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.emulator.code_object import CodeObject, read_code_object

_HEAD = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\n'
_KERNEL = """
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
"""
_DESCRIPTOR = """
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 512
  .amdhsa_accum_offset 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size {size}
.end_amdhsa_kernel
"""
_NOTE = """
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: {size}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 512
    .max_flat_workgroup_size: 256
"""
_POINTER = "      - {{.offset: {offset}, .size: 8, .value_kind: global_buffer, .address_space: global}}\n"


def assemble(bodies: Mapping[str, str], folder: Path, *, pointers: int = 0) -> CodeObject:
    """Return a code object with a kernel of each name; instructions of a body are separated by semicolons or lines.

    Each kernel takes so many pointers, whose address is in ``s[0:1]``.
    """
    names, size = list(bodies), 8 * pointers
    arguments = "".join(_POINTER.format(offset=8 * number) for number in range(pointers))
    head = f"    .args:\n{arguments}" if pointers else ""
    text = _HEAD + "".join(_KERNEL.format(name=name, body=body) for name, body in bodies.items())
    text += "".join(_DESCRIPTOR.format(name=name, size=size) for name in names)
    notes = "".join(_NOTE.format(name=name, size=size) + head for name in names)
    text += f".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n{notes}...\n.end_amdgpu_metadata\n"
    source, machine, linked = (folder / f"assembled{suffix}" for suffix in (".s", ".o", ".co"))
    source.write_text(text.replace(";", "\n"))
    zig = (sys.executable, "-m", "ziglang")
    target = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942")
    for command in (
        (*zig, "clang", *target, "-c", str(source), "-o", str(machine)),
        (*zig, "ld.lld", "-shared", str(machine), "-o", str(linked)),
    ):
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert not run.returncode, run.stderr[-4000:]
    return read_code_object(linked.read_bytes(), linked.name)
