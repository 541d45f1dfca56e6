"""A kernel launch as it reached the runtime, and the code object that it means."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rocmatrix.binary.facts import BundleEntry, UnreadableError
from rocmatrix.binary.offload import unbundle
from rocmatrix.emulator.code_object import ARCH, CodeObject, read_code_object
from rocmatrix.emulator.hidden_arguments import Extent
from rocmatrix.emulator.metadata import Argument, KernelMetadata
from rocmatrix.errors import InputError

DEVICE_FEATURES = frozenset({"sramecc+", "xnack-"})
"""Target features of an MI300 as its driver sets it up."""
_ELF = b"\x7fELF"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One kernel launch.

    Attributes:
        code_object: bytes of the code object that holds the kernel.
        kernel: its name there.
        grid: workgroups.
        block: work-items of a workgroup.
        dynamic_lds: bytes of LDS beyond the kernel's own.
        stream: the stream's handle; 0 for the default stream.
        arguments: the program's own arguments as they lie in the kernarg segment.
    """

    code_object: bytes
    kernel: str
    grid: Extent
    block: Extent
    dynamic_lds: int
    stream: int
    arguments: bytes


class Images:
    """Bundles and code objects that the process has registered, by address."""

    def __init__(self) -> None:
        """Start with none; an image is read when it is first used."""
        self._code: dict[int, tuple[bytes, CodeObject]] = {}

    def code(self, address: int) -> tuple[bytes, CodeObject]:
        """Return the code object for this device at an address, and what is in it.

        Raises:
            InputError: there is none, or it cannot be read.
        """
        if address not in self._code:
            data = _code_object(mapped_bytes(address))
            self._code[address] = (data, read_code_object(data, "the registered code object"))
        return self._code[address]


def _code_object(image: bytes) -> bytes:
    if image.startswith(_ELF):
        return image
    try:
        entries = unbundle(image)
    except UnreadableError as err:
        raise InputError(str(err), fix="Build with uncompressed offload bundles.") from err
    fitting = [entry for entry in entries if _fits(entry)]
    if not fitting:
        names = ", ".join(entry.entry for entry in entries) or "none"
        what = f"no code object for {ARCH} is registered"
        raise InputError(what, fix=f"Build for {ARCH}; the bundle holds: {names}.")
    return max(fitting, key=_precision).data


def _precision(entry: BundleEntry) -> int:
    """Return how many features an entry names: the runtime takes the most precise one that fits."""
    return len(entry.target[1]) if entry.target else 0


def _fits(entry: BundleEntry) -> bool:
    return entry.target is not None and entry.target[0] == ARCH and DEVICE_FEATURES.issuperset(entry.target[1])


def mapped_bytes(address: int) -> bytes:
    """Return the bytes of this process from an address to the end of what is mapped there without a gap.

    Raises:
        InputError: nothing is mapped there.
    """
    end = address
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        limits, permissions = line.split()[:2]
        start, stop = (int(text, 16) for text in limits.split("-"))
        if start <= end < stop and permissions.startswith("r"):
            end = stop
    if end == address:
        raise InputError(f"a code object is registered at {address:#x}, where nothing is", fix="Build it again.")
    return ctypes.string_at(address, end - address)


def lay_out(metadata: KernelMetadata, pointers: list[int]) -> bytes:
    """Return the arguments, given a pointer to each, as the kernel's metadata lays them out."""
    own = own_arguments(metadata)
    segment = bytearray(own_size(metadata))
    for argument, pointer in zip(own, pointers, strict=True):
        segment[argument.offset : argument.offset + argument.size] = ctypes.string_at(pointer, argument.size)
    return bytes(segment)


@cache
def own_arguments(metadata: KernelMetadata) -> tuple[Argument, ...]:
    """Return the arguments that the program gives."""
    return tuple(argument for argument in metadata.args if not argument.is_hidden)


def own_size(metadata: KernelMetadata) -> int:
    """Return the bytes up to the end of the last of them."""
    return max((argument.offset + argument.size for argument in own_arguments(metadata)), default=0)
