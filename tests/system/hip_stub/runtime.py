"""Builds the stub HIP runtime and reads what reaches it."""

import ctypes
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Protocol

import msgspec
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

SUCCESS = 0
LAUNCH_FAILURE = 719
LAUNCH_FAILURE_TEXT = "unspecified launch failure"

_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_NOTE_OWNER, _NOTE_TYPE = "AMDGPU", 32  # NT_AMDGPU_METADATA: AMDGPUUsage, "Code Object V3 and Above Note Records"


def build(folder: Path, soname: str) -> Path:
    """Compile the stub into a folder under the name that binaries ask for."""
    source = Path(__file__).with_name("hip_stub.c")
    made = folder / soname
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.28", "-shared", "-fPIC", "-O1",
         "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{soname}", str(source), "-o", str(made)],
        check=True, timeout=300,
    )  # fmt: skip
    return made


@dataclass(frozen=True, kw_only=True)
class KernelArgument:
    """One explicit argument of a kernel, as the code object's metadata lays it out; offset and size in bytes."""

    offset: int
    size: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One launch: the kernel's name, the grid in blocks, the block in threads, the arguments' bytes in order."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[bytes, ...]
    shared: int
    stream: int


class _Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))

    def triple(self) -> tuple[int, int, int]:
        return (self.x, self.y, self.z)


class _Dim3Pointer(Protocol):
    contents: _Dim3


_OnLaunch = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(_Dim3),
    ctypes.POINTER(_Dim3),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_size_t,
    ctypes.c_void_p,
)


class StubRuntime:
    """The stub that this process has loaded; keeps every launch in ``launches``."""

    def __init__(self, soname: str) -> None:
        self._library = ctypes.CDLL(soname)
        self._library.hip_stub_bundle.restype = ctypes.c_void_p
        self._callback = _OnLaunch(self._on_launch)
        self._library.hip_stub_set_on_launch(self._callback)
        self._kernels: dict[str, tuple[KernelArgument, ...]] = {}
        self.launches: list[Launch] = []
        self.result = SUCCESS
        """The hipError_t that the next launches return."""

    def kernels(self) -> dict[str, tuple[KernelArgument, ...]]:
        """Return the explicit arguments of every kernel of the registered code objects, by name."""
        if not self._kernels:
            for index in range(self._library.hip_stub_binary_count()):
                for code_object in read_bundle(partial(_read_memory, self._library.hip_stub_bundle(index))):
                    self._kernels.update(read_kernels(code_object))
        return self._kernels

    def _on_launch(  # noqa: PLR0917 - the callback's signature is the stub's
        self, name: bytes, grid: _Dim3Pointer, block: _Dim3Pointer, arguments: Sequence[int], shared: int,
        stream: int | None,
    ) -> int:  # fmt: skip
        kernel = name.decode()
        layout = self.kernels()[kernel]
        self.launches.append(
            Launch(
                kernel=kernel,
                grid=grid.contents.triple(),
                block=block.contents.triple(),
                arguments=tuple(ctypes.string_at(arguments[i], item.size) for i, item in enumerate(layout)),
                shared=shared,
                stream=stream or 0,
            )
        )
        return self.result


def _read_memory(base: int, at: int, size: int) -> bytes:
    return ctypes.string_at(base + at, size)


def read_bundle(read: Callable[[int, int], bytes]) -> Iterator[bytes]:
    """Yield the code objects of an uncompressed offload bundle; ``read(offset, size)`` gives its bytes."""
    assert read(0, len(_BUNDLE_MAGIC)) == _BUNDLE_MAGIC
    at = len(_BUNDLE_MAGIC)
    (count,) = struct.unpack("<Q", read(at, 8))
    at += 8
    for _ in range(count):
        offset, size, id_length = struct.unpack("<QQQ", read(at, 24))
        at += 24 + id_length
        if size:
            yield read(offset, size)


def read_kernels(code_object: bytes) -> Iterator[tuple[str, tuple[KernelArgument, ...]]]:
    """Yield name and explicit arguments of every kernel in a code object, from its metadata note."""
    for segment in ELFFile(BytesIO(code_object)).iter_segments("PT_NOTE"):
        assert isinstance(segment, NoteSegment)
        for note in segment.iter_notes():
            if note["n_name"] != _NOTE_OWNER or int(note["n_type"]) != _NOTE_TYPE:  # AMD's types have no names there
                continue
            for kernel in msgspec.msgpack.decode(note["n_descdata"])["amdhsa.kernels"]:
                yield (
                    kernel[".name"],
                    tuple(
                        KernelArgument(offset=item[".offset"], size=item[".size"], kind=item[".value_kind"])
                        for item in kernel.get(".args", ())
                        if not item[".value_kind"].startswith("hidden_")
                    ),
                )
