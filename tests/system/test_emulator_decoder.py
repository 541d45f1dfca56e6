"""Our decoder against LLVM's disassembler: name, size, every operand, every modifier."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Encoding, Instruction, RegisterFile
from rocmatrix.emulator.interpreter import check_executable
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from tests.system.emulator_assembly import is_opaque, read_line, write_line
from tests.system.emulator_compiler import compile_gemm
from tests.system.emulator_encodings import SLOT, Encoder
from tests.system.emulator_encodings import Encoding as Words
from tests.system.llvm_tools import find_tool

pytestmark = pytest.mark.needs_llvm_objdump

_LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-F]+): ([0-9A-F ]+)")
_WRITTEN_OTHERWISE = ("v_madak_f16", "v_madmk_f16", "v_cvt_pk_f32_", "v_cvt_f32_fp8", "v_cvt_f32_bf8", "buffer_")
"""Literals of these are printed whole or twice; cache control prints no offset."""
_NOT_DECODED = ("buffer_wbinvl1", "buffer_store_lds_dword")
"""What tinygrad's tables lack; refused when executed, too."""
_CHUNKS, _CHUNK, _LEAST = 10, 10_000, 6_700
"""Chunks, encodings that are drawn for each, and how many of those are instructions to LLVM at least."""

Known = tuple[str, bytes]
"""Text and bytes of an instruction."""


def _disassembled(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Give address, text and bytes of each instruction of an object."""
    command = [find_tool("llvm-objdump"), "-d", "--mcpu=gfx942", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    for line in run.stdout.splitlines():
        if found := _LINE.match(line):
            code = b"".join(int(word, 16).to_bytes(4, "little") for word in found[3].split())
            yield int(found[2], 16), found[1].strip(), code


def _is_known(text: str) -> bool:
    return not any(word in text for word in (".long", "<unknown>", "Invalid", "only supports"))


def _disagreement(text: str, code: bytes, address: int) -> str | None:
    """Return what differs, ``None`` where nothing does or the instruction would be refused anyway."""
    try:
        instruction = decode(code, address)
    except UnsupportedError as err:
        return None if text.startswith(_NOT_DECODED) else f"{text}: {err}"
    want = read_line(text)
    if want.name != instruction.name:
        return f"{text}: decoded as {instruction.name}"
    try:
        check_executable(instruction)
    except (AccessError, UnsupportedError):
        return None
    if is_opaque(instruction) or _is_printed_otherwise(instruction):
        return None
    got = write_line(instruction)
    return None if got == want else f"{text}: {got}"


def _is_printed_otherwise(instruction: Instruction) -> bool:
    cache = instruction.encoding is Encoding.SMEM and not instruction.name.startswith(("s_load", "s_buffer_load"))
    # LLVM prints a literal that a 16-bit constant could have been as that constant
    halves = [operand.index & 0xFFFF for operand in instruction.sources if operand.file is RegisterFile.LITERAL]
    inline = any(half <= 64 or half >= 0xFFF0 for half in halves)
    return (
        cache
        or inline
        or (
            instruction.name.startswith(_WRITTEN_OTHERWISE)
            and not instruction.name.startswith(("buffer_load", "buffer_store", "buffer_atomic"))
        )
    )


@pytest.mark.needs_llvm
def test_every_instruction_of_the_gemm_decodes_as_llvm_says(tmp_path: Path) -> None:
    path = compile_gemm(tmp_path)
    compared = [(text, _disagreement(text, code, address)) for address, text, code in _disassembled(path)]
    assert len(compared) > 10_000
    assert [wrong for _, wrong in compared if wrong] == []


def _assemble(encodings: Sequence[Words], path: Path) -> Path:
    words = [[*encoding, *[0xBF800000] * (SLOT // 4 - len(encoding))] for encoding in encodings]
    source = "".join(f".long {','.join(map(str, slot))}\n" for slot in words)
    command = [find_tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Future[list[Known]]]]:
    """Give what LLVM knows of each chunk; it disassembles the next ones while one is compared."""
    folder = tmp_path_factory.mktemp("fuzzed")
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield [pool.submit(_known, seed, folder / f"{seed}.o") for seed in range(_CHUNKS)]


def _known(seed: int, path: Path) -> list[Known]:
    _assemble(Encoder(seed).encodings(_CHUNK), path)
    return [(text, code) for address, text, code in _disassembled(path) if address % SLOT == 0 and _is_known(text)]


@pytest.mark.parametrize("seed", range(_CHUNKS))
def test_random_encodings_decode_as_llvm_says(seed: int, fuzzed: list[Future[list[Known]]]) -> None:
    known = fuzzed[seed].result()
    assert len(known) > _LEAST
    wrong = [_disagreement(text, code, 0) for text, code in known]
    assert list(filter(None, wrong)) == []
