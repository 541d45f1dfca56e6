"""Ways through the GPU code of a variant: which code objects there are, and what their kernels do."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import VariantFacts
from rocmatrix.binary.facts import CodeObject
from rocmatrix.binary.kernel_facts import Kernel

_FP8_OPERANDS = ("fp8", "bf8", "f8f6f4")
"""What the mnemonic of a matrix instruction has where it reads FP8 (CDNA 3 and 4 ISA documents, VOP3P-MAI)."""


def code_objects(facts: VariantFacts) -> Iterator[tuple[str, CodeObject]]:
    """Give each code object with the path of the file that it lies in, out of bundles and by itself."""
    for binary in facts.binaries:
        for bundle in binary.bundles:
            yield from ((binary.path, code) for code in bundle.code_objects)
        yield from ((binary.path, code) for code in binary.code_objects)
    for file in facts.device_files:
        for bundle in file.bundles:
            yield from ((file.path, code) for code in bundle.code_objects)
        yield from ((file.path, code) for code in file.code_objects)


def arch_of(code: CodeObject) -> str:
    """Return the processor that a code object is for, by the id of its entry or by its own flags; ``""`` if unknown."""
    return code.arch or code.elf_arch or ""


def reads_fp8(kernel: Kernel) -> bool | None:
    """Return whether a kernel has matrix instructions that read FP8; ``None`` if its code was not read."""
    if kernel.instructions is None:
        return None
    return any(operand in mnemonic for mnemonic in kernel.instructions.matrix for operand in _FP8_OPERANDS)
