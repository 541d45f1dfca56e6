"""The metadata note of a code object: names, arguments and sizes of its kernels.

Format: MessagePack, keys as in AMDGPUUsage of LLVM, "Code Object V3 Metadata" to "V6". Unknown keys are ignored, as
that document asks; unknown kinds of arguments are not, because somebody would have to fill them in.
"""

from __future__ import annotations

import msgspec

from rocmatrix.errors import InputError


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One argument in the kernarg segment; offset and size in bytes."""

    offset: int = msgspec.field(name=".offset")
    size: int = msgspec.field(name=".size")
    value_kind: str = msgspec.field(name=".value_kind")
    name: str = msgspec.field(name=".name", default="")
    address_space: str | None = msgspec.field(name=".address_space", default=None)

    @property
    def is_hidden(self) -> bool:
        """Whether the runtime fills it in, not the program."""
        return self.value_kind.startswith("hidden_")


class KernelMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What the note says of one kernel; sizes in bytes."""

    name: str = msgspec.field(name=".name")
    symbol: str = msgspec.field(name=".symbol")
    kernarg_segment_size: int = msgspec.field(name=".kernarg_segment_size")
    kernarg_segment_align: int = msgspec.field(name=".kernarg_segment_align")
    group_segment_fixed_size: int = msgspec.field(name=".group_segment_fixed_size")
    private_segment_fixed_size: int = msgspec.field(name=".private_segment_fixed_size")
    wavefront_size: int = msgspec.field(name=".wavefront_size")
    max_flat_workgroup_size: int = msgspec.field(name=".max_flat_workgroup_size", default=1024)
    reqd_workgroup_size: tuple[int, int, int] | None = msgspec.field(name=".reqd_workgroup_size", default=None)
    args: tuple[Argument, ...] = msgspec.field(name=".args", default=())
    uses_dynamic_stack: bool = msgspec.field(name=".uses_dynamic_stack", default=False)


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    kernels: tuple[KernelMetadata, ...] = msgspec.field(name="amdhsa.kernels", default=())
    target: str = msgspec.field(name="amdhsa.target", default="")


def read_metadata(note: bytes, where: str) -> tuple[KernelMetadata, ...]:
    """Return what a note's description says of the kernels.

    Raises:
        InputError: it is not such a note.
    """
    try:
        return msgspec.msgpack.decode(note, type=_Note, strict=False).kernels
    except msgspec.MsgspecError as err:
        what = f"the metadata note of the code object cannot be read: {err}"
        raise InputError(what, where=where, fix="Give a code object that clang made.") from err
