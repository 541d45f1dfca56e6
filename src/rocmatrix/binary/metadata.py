"""The metadata note of a code object: what the compiler says of its kernels, for every gfx.

Format: MessagePack, keys as in LLVM's AMDGPUUsage, "Code Object V3 Metadata" to "V6". Unknown keys are ignored, as that
document asks, and a key that it calls optional may be absent.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.kernel_facts import Kernel, KernelArgument
from rocmatrix.binary.occupancy import occupancy
from rocmatrix.binary.reading import Reading

MAX_NOTE = 1 << 25
"""Bytes of a metadata note; rocBLAS has code objects with some ten megabytes for thousands of kernels."""

OWNER, KIND = b"AMDGPU", 32
"""Owner and type (NT_AMDGPU_METADATA) of the note."""


_NO_ARGUMENTS = b"\x90"
"""An empty array."""


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
    args: msgspec.Raw = msgspec.field(name=".args", default=msgspec.Raw(_NO_ARGUMENTS))
    """Decoded apart: equal layouts, of which a library has thousands, only once."""


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    kernels: tuple[_Kernel, ...] = msgspec.field(name="amdhsa.kernels", default=())
    target: str = msgspec.field(name="amdhsa.target", default="")


def read_metadata(note: bytes, arch: str | None, reading: Reading) -> CodeMetadata:
    """Return what the description of a metadata note says.

    Args:
        note: the description.
        arch: the processor that the code object is for.
        reading: how its file is read.

    Raises:
        UnreadableError: it is not such a note.
    """
    try:
        read = msgspec.msgpack.decode(note, type=_Note)
        reading.budget.kernels(len(read.kernels))
        unread = reading.decoder.missing(arch or "")
        kernels = tuple(_kernel(kernel, arch, unread, reading) for kernel in read.kernels)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise UnreadableError(f"the metadata note is damaged: {err}") from err
    return CodeMetadata(target=read.target, kernels=kernels)


def _kernel(read: _Kernel, arch: str | None, unread: str | None, reading: Reading) -> Kernel:
    names = reading.names
    return Kernel(
        name=names.setdefault(read.name, read.name),
        symbol=names.setdefault(read.symbol, read.symbol),
        vgprs=read.vgprs,
        agprs=read.agprs,
        sgprs=read.sgprs,
        vgpr_spills=read.vgpr_spills,
        sgpr_spills=read.sgpr_spills,
        lds=read.lds,
        scratch=read.scratch,
        dynamic_stack=read.dynamic_stack,
        max_workgroup=read.max_workgroup,
        required_workgroup=read.required_workgroup,
        wavefront=read.wavefront,
        kernarg_size=read.kernarg_size,
        kernarg_align=read.kernarg_align,
        arguments=_layout(bytes(read.args), reading),
        occupancy=occupancy(
            arch,
            vgprs=read.vgprs,
            sgprs=read.sgprs,
            lds=read.lds,
            max_workgroup=read.max_workgroup,
            wavefront=read.wavefront,
        ),
        unread=unread,
    )


def _layout(args: bytes, reading: Reading) -> tuple[KernelArgument, ...]:
    if (known := reading.layouts.get(args)) is not None:
        return known
    reading.budget.layout(len(args))
    names = reading.names
    reading.layouts[args] = layout = tuple(
        KernelArgument(
            offset=argument.offset,
            size=argument.size,
            kind=names.setdefault(argument.value_kind, argument.value_kind),
            name=names.setdefault(argument.name, argument.name),
            address_space=argument.address_space and names.setdefault(argument.address_space, argument.address_space),
        )
        for argument in msgspec.msgpack.decode(args, type=tuple[_Argument, ...])
    )
    return layout
