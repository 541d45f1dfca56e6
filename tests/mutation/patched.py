"""Mutants by the translator at little cost: the unchanged blocks are those of the original, compiled once.

The blocks that a mutant changes are executed by the reference, instruction by instruction; the two executors have the
same results, which is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from rocmatrix.emulator.analysis import Analysis
from rocmatrix.emulator.device import Device
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.reports import Detector
from rocmatrix.emulator.translator import blocks
from rocmatrix.emulator.translator import program as translated
from rocmatrix.emulator.translator.code import Code, Work
from rocmatrix.emulator.translator.compiler import Compiler, find_compiler
from rocmatrix.emulator.translator.program import TranslatedProgram
from tests.mutation.operators import Mutant

_UNCHANGED = (blocks._LONGEST, Code)


def restore() -> None:
    """Let the translator be as it was before mutants were made in this process."""
    longest, code = _UNCHANGED
    setattr(blocks, "_LONGEST", longest)  # noqa: B010 - as below
    setattr(translated, "Code", code)  # noqa: B010 - as below
    PatchedCode.change = None


Programs = Callable[[Memory, str], Program]
"""What a ``Device`` takes."""
Change: TypeAlias = "tuple[int, *tuple[Mutant, ...]]"
"""Offset of the kernel in the code, and one mutant or several of it."""
_LONGEST_BLOCK = 12
"""Instructions of a block: the reference executes the mutant's whole block, which must therefore be short."""
_REASON = "the mutant's own block"


class OriginalCompiler:
    """Gives the library of the original code for a mutant's, which differs from it in the patched blocks only."""

    def __init__(self, compiler: Compiler, original: bytes, patched: bytes) -> None:
        """Keep what stands in the original's identity and in the mutant's."""
        self._compiler = compiler
        self._original = original
        self._patched = patched

    def compiled(self, identity: bytes, write: Callable[..., object]) -> Path:
        """Return the original's library where there is one; code that only the mutant reaches is compiled."""
        original = identity.replace(self._patched, self._original)
        place = self._compiler.folder / f"{self._compiler._name(original)}.so"
        return place if place.exists() else self._compiler.compiled(identity, write)  # type: ignore[arg-type]


class PatchedCode(Code):
    """Code with one change in it."""

    change: Change | None = None
    """What is changed of the code; set before anything runs."""

    def translate(self, offset: int) -> None:
        """Translate, and leave the changed blocks to the reference."""
        super().translate(offset)
        if PatchedCode.change is None:
            return
        entry, *mutants = PatchedCode.change
        for mutant in mutants:
            first, end = entry + mutant.offset, entry + mutant.offset + len(mutant.before)
            for start, last in list(self._last.items()):
                if start < end and last >= first:
                    self._leave(start, max(last, end - 4))

    def _leave(self, start: int, last: int) -> None:
        """Let the reference execute everything from one instruction to another."""
        self._table[start >> 2] = None
        for place in range(start, last + 4, 4):
            self._refusals.setdefault(place, _REASON)


class MutantPrograms:
    """Makes programs of a mutant: what a ``Device`` takes."""

    def __init__(self, cache: Path, image: bytes) -> None:
        """Keep what the original is.

        Args:
            cache: folder with the original's translation, or for it.
            image: the executable segment of the original.

        Raises:
            AssertionError: there is no compiler.
        """
        compiler = find_compiler(cache)
        assert compiler is not None, "the package ziglang is not installed"
        self._compiler = compiler
        self._original = image
        self.work = Work()
        setattr(blocks, "_LONGEST", _LONGEST_BLOCK)  # noqa: B010 - read where blocks are cut
        setattr(translated, "Code", PatchedCode)  # noqa: B010 - what the module makes programs with

    def of(
        self,
        change: Change | None,
        patched: bytes,
        kind: type[TranslatedProgram] = TranslatedProgram,
    ) -> Programs:
        """Return what makes programs, of some kind, of the code with a change in it, or of the original."""

        def make(memory: Memory, kernel: str) -> Program:
            PatchedCode.change = change
            compiler = OriginalCompiler(self._compiler, self._original, patched) if change else self._compiler
            return kind(memory, kernel, compiler, self.work)  # type: ignore[arg-type]

        return make


class Devices:
    """Makes fresh devices for launches of one code object, whose code the detectors look at once.

    A launch of the GEMM takes 0.01 s without detectors; looking at its code takes 0.13 s.
    """

    def __init__(self, programs: Programs) -> None:
        """Take what makes programs of the code."""
        self._programs = programs
        self._analyses: dict[tuple[int, str, frozenset[Detector]], Analysis] = {}

    def fresh(self, programs: Programs | None = None) -> Device:
        """Return a device with nothing in memory; another maker of programs must make them of the same code."""
        device = Device(programs or self._programs)
        device._analyses = self._analyses  # by address, and fresh devices load at the same one
        return device
