"""The metadata note of a code object: names, arguments and sizes of its kernels.

Format: MessagePack, keys as in AMDGPUUsage of LLVM, "Code Object V3 Metadata" to "V6". Unknown keys are ignored, as
that document asks; unknown kinds of arguments are not, because somebody would have to fill them in.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from rocmatrix.errors import InputError

_LARGEST = 1 << 24
Size = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
"""Bytes; far more than any launch has, but nothing that a damaged note could fill the memory with."""
_LARGEST_HIDDEN = 8
_FIX = "Give a code object that clang made."


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One argument in the kernarg segment; offset and size in bytes."""

    offset: Size = msgspec.field(name=".offset")
    size: Size = msgspec.field(name=".size")
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
    kernarg_segment_size: Size = msgspec.field(name=".kernarg_segment_size")
    kernarg_segment_align: Size = msgspec.field(name=".kernarg_segment_align")
    group_segment_fixed_size: Size = msgspec.field(name=".group_segment_fixed_size")
    private_segment_fixed_size: Size = msgspec.field(name=".private_segment_fixed_size")
    wavefront_size: int = msgspec.field(name=".wavefront_size")
    max_flat_workgroup_size: int = msgspec.field(name=".max_flat_workgroup_size", default=1024)
    reqd_workgroup_size: tuple[int, int, int] | None = msgspec.field(name=".reqd_workgroup_size", default=None)
    args: tuple[Argument, ...] = msgspec.field(name=".args", default=())
    uses_dynamic_stack: bool = msgspec.field(name=".uses_dynamic_stack", default=False)


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    kernels: tuple[KernelMetadata, ...] = msgspec.field(name="amdhsa.kernels")
    target: str = msgspec.field(name="amdhsa.target", default="")


def read_metadata(note: bytes, where: str) -> tuple[KernelMetadata, ...]:
    """Return what a note's description says of the kernels.

    Raises:
        InputError: it is not such a note.
    """
    try:
        kernels = msgspec.msgpack.decode(note, type=_Note, strict=False).kernels
    except msgspec.MsgspecError as err:
        what = f"the metadata note of the code object cannot be read: {err}"
        raise InputError(what, where=where, fix=_FIX) from err
    for kernel in kernels:
        for argument in kernel.args:
            _check_argument(argument, kernel, where)
    return kernels


def _check_argument(argument: Argument, kernel: KernelMetadata, where: str) -> None:
    """Refuse an argument that does not lie in the segment, or that the runtime cannot write.

    Raises:
        InputError: with the argument and the kernel.
    """
    wrong = None
    if argument.offset + argument.size > kernel.kernarg_segment_size:
        wrong = f"ends behind the {kernel.kernarg_segment_size} bytes of the kernarg segment"
    elif argument.is_hidden and argument.size > _LARGEST_HIDDEN:
        wrong = f"has {argument.size} bytes, and hidden ones have {_LARGEST_HIDDEN} at most"
    if wrong:
        name = f"the argument {argument.value_kind} at byte {argument.offset} of {kernel.name}"
        what = f"the metadata note: {name} {wrong}"
        raise InputError(what, where=where, fix=_FIX)
