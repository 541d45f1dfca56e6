"""The metadata note of a code object: what the compiler says of its kernels, for every gfx.

Format: MessagePack, keys as in LLVM's AMDGPUUsage, "Code Object V3 Metadata" to "V6". Unknown keys are ignored, as that
document asks, and a key that it calls optional may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.kernel_facts import Kernel, KernelArgument

MAX_NOTE = 1 << 25
"""Bytes of a metadata note; rocBLAS has code objects with some ten megabytes for thousands of kernels."""
MAX_KERNELS = 1 << 15
"""Kernels of one code object."""

OWNER, KIND = b"AMDGPU", 32
"""Owner and type (NT_AMDGPU_METADATA) of the note."""


@dataclass(frozen=True, kw_only=True)
class CodeMetadata:
    """What the note says: the target id, ``""`` before code object version 4, and the kernels in order."""

    target: str
    kernels: tuple[Kernel, ...]


class _Argument(msgspec.Struct, frozen=True, kw_only=True):
    size: int = msgspec.field(name=".size")
    value_kind: str = msgspec.field(name=".value_kind")
    offset: int = msgspec.field(name=".offset")
    name: str = msgspec.field(name=".name", default="")
    address_space: str | None = msgspec.field(name=".address_space", default=None)


class _Kernel(msgspec.Struct, frozen=True, kw_only=True):
    name: str = msgspec.field(name=".name")
    symbol: str = msgspec.field(name=".symbol")
    vgprs: int = msgspec.field(name=".vgpr_count")
    sgprs: int = msgspec.field(name=".sgpr_count")
    lds: int = msgspec.field(name=".group_segment_fixed_size")
    scratch: int = msgspec.field(name=".private_segment_fixed_size")
    kernarg_size: int = msgspec.field(name=".kernarg_segment_size")
    kernarg_align: int = msgspec.field(name=".kernarg_segment_align")
    wavefront: int = msgspec.field(name=".wavefront_size")
    max_workgroup: int = msgspec.field(name=".max_flat_workgroup_size")
    agprs: int | None = msgspec.field(name=".agpr_count", default=None)
    vgpr_spills: int | None = msgspec.field(name=".vgpr_spill_count", default=None)
    sgpr_spills: int | None = msgspec.field(name=".sgpr_spill_count", default=None)
    dynamic_stack: bool | None = msgspec.field(name=".uses_dynamic_stack", default=None)
    required_workgroup: tuple[int, int, int] | None = msgspec.field(name=".reqd_workgroup_size", default=None)
    args: tuple[_Argument, ...] = msgspec.field(name=".args", default=())


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    kernels: tuple[_Kernel, ...] = msgspec.field(name="amdhsa.kernels", default=())
    target: str = msgspec.field(name="amdhsa.target", default="")


def read_metadata(note: bytes) -> CodeMetadata:
    """Return what the description of a metadata note says.

    Raises:
        UnreadableError: it is not such a note.
    """
    try:
        read = msgspec.msgpack.decode(note, type=_Note)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise UnreadableError(f"the metadata note is damaged: {err}") from err
    if len(read.kernels) > MAX_KERNELS:
        raise UnreadableError(f"the metadata note speaks of {len(read.kernels)} kernels")
    return CodeMetadata(target=read.target, kernels=tuple(_kernels(read)))


def _kernels(read: _Note) -> Iterator[Kernel]:
    """Give the kernels; equal layouts of arguments, of which a library has thousands, are kept once."""
    layouts: dict[tuple[_Argument, ...], tuple[KernelArgument, ...]] = {}
    for kernel in read.kernels:
        layout = layouts.get(kernel.args)
        if layout is None:
            layout = layouts[kernel.args] = tuple(map(_argument, kernel.args))
        yield Kernel(
            name=kernel.name,
            symbol=kernel.symbol,
            vgprs=kernel.vgprs,
            agprs=kernel.agprs,
            sgprs=kernel.sgprs,
            vgpr_spills=kernel.vgpr_spills,
            sgpr_spills=kernel.sgpr_spills,
            lds=kernel.lds,
            scratch=kernel.scratch,
            dynamic_stack=kernel.dynamic_stack,
            max_workgroup=kernel.max_workgroup,
            required_workgroup=kernel.required_workgroup,
            wavefront=kernel.wavefront,
            kernarg_size=kernel.kernarg_size,
            kernarg_align=kernel.kernarg_align,
            arguments=layout,
        )


def _argument(read: _Argument) -> KernelArgument:
    return KernelArgument(
        offset=read.offset, size=read.size, kind=read.value_kind, name=read.name, address_space=read.address_space
    )
