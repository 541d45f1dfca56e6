"""A closer look at code objects: the machine code of their kernels, where there is a decoder for it.

The decoder is the emulator's, for gfx942; it needs the package tinygrad (extra ``emulator``). For other GPUs and
without it, facts say why the machine code was not read. Nothing is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec

from rocmatrix.binary.dynamic import Definition, Dynamic
from rocmatrix.binary.facts import CodeObject, UnreadableError
from rocmatrix.binary.header import read_header
from rocmatrix.binary.kernel_facts import HotLoop, InstructionMix, Kernel
from rocmatrix.binary.window import Window

ARCH = "gfx942"
"""The GPU that the decoder knows."""
MAX_INSTRUCTIONS = 50_000
"""Dwords of code of one file that are decoded: some seconds of work; a GEMM kernel has some five thousand."""

_KEPT = 64
"""Kernels whose counts are kept: variants of one release often hold the same code."""
_WORD = 4
_ENTRY = struct.Struct("<q")
_ENTRY_PLACE = 16
"""Where the kernel descriptor holds the distance from itself to the first instruction (AMDGPUUsage)."""


class CodeDecoder:
    """Decodes the kernels of one file until as many instructions were decoded as an audit does."""

    def __init__(self) -> None:
        """Start with nothing decoded."""
        self._left = MAX_INSTRUCTIONS
        self._installed = find_spec("tinygrad") is not None

    def missing(self, arch: str) -> str | None:
        """Return why the code of a processor cannot be decoded; ``None`` if it can."""
        if arch != ARCH:
            return f"its machine code was not read: there is a decoder for {ARCH} only"
        if not self._installed:
            return "its machine code was not read: there is no decoder (pip install 'rocmatrix[emulator]')"
        return None

    def inspect(self, file: Window, found: CodeObject) -> CodeObject:
        """Return a code object for ``ARCH`` with the instructions of its kernels counted."""
        try:
            dynamic = Dynamic(file, read_header(file))
            symbols = {symbol.name: symbol for symbol in dynamic.definitions()}
        except (UnreadableError, struct.error) as err:
            return _unread(found, f"its machine code was not found: {err}")
        return replace(found, kernels=tuple(self._kernel(kernel, dynamic.at, symbols) for kernel in found.kernels))

    def _kernel(self, kernel: Kernel, read: Callable[[int, int], bytes], symbols: dict[str, Definition]) -> Kernel:
        try:
            start, code = _code_of(kernel, read, symbols)
        except UnreadableError as err:
            return replace(kernel, unread=f"its machine code was not found: {err}")
        self._left -= len(code) // _WORD
        if self._left < 0:
            return replace(kernel, unread=f"its machine code was not read: no more than {MAX_INSTRUCTIONS} are decoded")
        mix, loop, unread = _counted(code, start)
        return replace(kernel, instructions=mix, hot_loop=loop, unread=unread)


def _unread(found: CodeObject, why: str) -> CodeObject:
    return replace(found, kernels=tuple(replace(kernel, unread=why) for kernel in found.kernels))


@lru_cache(maxsize=_KEPT)
def _counted(code: bytes, start: int) -> tuple[InstructionMix | None, HotLoop | None, str | None]:
    """Return what the code of a kernel is made of, its hot loop, and why neither is known."""
    from rocmatrix.audit.instruction_mix import hot_loop, mix_of  # noqa: PLC0415 - the emulator's tables are heavy
    from rocmatrix.audit.steps import read_steps  # noqa: PLC0415 - as above

    try:
        steps = read_steps(code, start)
    except UnreadableError as err:
        return None, None, f"its machine code was not read: {err}"
    return mix_of(steps), hot_loop(steps), None


def _code_of(kernel: Kernel, read: Callable[[int, int], bytes], symbols: dict[str, Definition]) -> tuple[int, bytes]:
    """Return where the instructions of a kernel begin, and their bytes: the symbol there says how many.

    Raises:
        UnreadableError: a symbol is missing, or it points out of the file.
    """
    descriptor = symbols.get(kernel.symbol)
    if descriptor is None:
        raise UnreadableError(f"there is no symbol {kernel.symbol}")
    (distance,) = _ENTRY.unpack(read(descriptor.address + _ENTRY_PLACE, _ENTRY.size))
    start = descriptor.address + distance
    function = symbols.get(kernel.symbol.removesuffix(".kd"))
    if function is None or function.address != start or not function.size or function.size % _WORD:
        raise UnreadableError(f"no symbol says how long the code at {start:#x} is")
    if function.size > MAX_INSTRUCTIONS * 4 * _WORD:
        raise UnreadableError(f"the code at {start:#x} has {function.size} bytes")
    return start, read(start, function.size)
