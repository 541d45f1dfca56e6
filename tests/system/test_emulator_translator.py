"""Both executors do the same: random instructions in random states, memory, faults, matrices, whole kernels."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.algebra import BOOL
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.descriptor import Denormals, Mode
from rocmatrix.emulator.instruction import Encoding, Instruction, MemoryBits, Operand, RegisterFile
from rocmatrix.emulator.interpreter import check_executable, handler_of
from rocmatrix.emulator.reports import AccessError, FaultError, FaultKind, UnsupportedError
from rocmatrix.emulator.semantics.arithmetic import PACKED, SCALAR, VECTOR, Arithmetic, Table
from rocmatrix.emulator.semantics.control import FLOWS
from rocmatrix.emulator.semantics.matrix import MATRIX
from rocmatrix.emulator.translator import compiler
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_encodings import Encoder
from tests.unit.emulator.machine import integer, make, s, v
from tests.unit.emulator.translator import twins
from tests.unit.emulator.translator.twins import (
    S_BASE,
    S_RESOURCE,
    S_SMALL,
    SLOT,
    V_FLAT,
    V_GLOBAL,
    V_INDEX,
    V_OFFSET,
    V_SCRATCH,
    control,
    executable,
    make_side,
    one_by_one,
    together,
)

pytestmark = pytest.mark.needs_llvm

_FLUSHING = Mode(denormals_32=Denormals.FLUSH_SOURCES_AND_RESULTS, dx10_clamp=False, ieee=False)
_REFERENCE_ONLY = ("s_set", "s_get", "s_mem")
_FORMATS = {
    "scalar": ("sop1", "sop2", "sopc", "sopk"),
    "vector": ("vop1", "vop2", "vopc", "vop3"),
    "packed": ("vop3p",),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translated")


def _instructions(seed: int, count: int, formats: Sequence[str]) -> list[Instruction]:
    """Return random instructions that the decoder knows and that are no control flow."""
    encoder = Encoder(seed)
    found: list[Instruction] = []
    while len(found) < count:
        words = encoder.formats[formats[len(found) % len(formats)]]()
        try:
            instruction = decode(b"".join(word.to_bytes(4, "little") for word in words).ljust(16, b"\0"), 0)
            check_executable(instruction)
            handler_of(instruction)
        except (UnsupportedError, AccessError):
            continue
        if instruction.name not in FLOWS and not instruction.name.startswith(_REFERENCE_ONLY):
            found.append(instruction)
    return found


@pytest.mark.parametrize("group", _FORMATS)
@pytest.mark.parametrize("mode", [Mode(), _FLUSHING], ids=["keep", "flush"])
def test_random_instructions_leave_the_same_state(group: str, mode: Mode, cache: Path) -> None:
    seed = 11 if mode is _FLUSHING else 12
    code = executable(_instructions(seed, 140, _FORMATS[group]), seed, mode)
    wrong, translator = one_by_one(cache, code, seed, mode)
    assert not wrong, "\n".join(wrong)
    assert translator.work.translated == 2 * len(code), translator.work
    wrong, _ = together(cache, code, seed, mode)
    assert not wrong


def _plain(operation: Arithmetic, encoding: Encoding, number: int) -> Instruction:
    """Return an operation on registers of its own, without modifiers."""
    scalar = encoding is Encoding.SOP2
    make_operand, first = (s, 32) if scalar else (v, number * 8 % 96)
    sources = []
    for place, kind in enumerate(operation.operands):
        if kind is not BOOL:
            sources.append(make_operand(first + 4 * place, kind.registers * (2 if encoding is Encoding.VOP3P else 1)))
        elif not scalar:
            sources.append(s(24, 2))
    destinations = []
    for place, kind in enumerate(operation.results):
        if kind is not BOOL:
            wide = kind.registers * (2 if encoding is Encoding.VOP3P and kind.bits == 32 else 1)
            destinations.append(make_operand(28 if scalar else 200 + 4 * place, wide))
        elif not scalar:
            destinations.append(s(20, 2))
    fields = {"op_sel_hi": 7} if encoding is Encoding.VOP3P else {}
    return make(operation.name, encoding, destinations, sources, **fields)


@pytest.mark.parametrize(
    ("table", "encoding"),
    [(SCALAR, Encoding.SOP2), (VECTOR, Encoding.VOP3), (PACKED, Encoding.VOP3P)],
    ids=["scalar", "vector", "packed"],
)
def test_every_operation_of_the_tables_gives_the_same_bits(table: Table, encoding: Encoding, cache: Path) -> None:
    code = [_plain(table[name], encoding, number) for number, name in enumerate(table) if "cmpx" not in name]
    code = executable(code, 31, Mode())
    assert len(code) > 0.95 * sum("cmpx" not in name for name in table)
    for mode in (Mode(), _FLUSHING):
        wrong, translator = one_by_one(cache, code, 31, mode)
        assert not wrong, "\n".join(wrong)
        assert not translator.work.interpreted


@pytest.mark.parametrize("addend", [0x0001, 0x8001])
def test_a_float16_product_between_two_numbers_goes_to_the_side_of_the_addend(addend: int, cache: Path) -> None:
    """The product is a tie, and float32 cannot hold how little the sum is away from it."""
    code = [make("v_fma_f16", Encoding.VOP3, [v(4)], [v(1), v(2), v(3)]), control("s_endpgm")]
    sides = [make_side(one, code, 1, Mode()) for one in (None, Translator(cache))]
    for side in sides:
        side.wave.vgprs[1:4] = np.array([[0x3C01], [0x3E00], [addend]], np.uint32)
        side.wave.vgprs[4] = 0
        twins.finish(side)
        results = side.wave.vgprs[4][side.wave.active] & 0xFFFF
        assert set(results.tolist()) == {0x3E02 if addend < 0x8000 else 0x3E01}
    assert not twins.differences(*sides)


def _at(operand: Operand, index: int) -> Operand:
    return replace(operand, index=index) if operand.count else operand


def _addressed(instruction: Instruction, encoder: Encoder, beyond: int) -> Instruction:
    """Return a memory instruction whose address registers hold addresses, ``beyond`` their end where that is not 0."""
    sources, bits = list(instruction.sources), instruction.memory or MemoryBits()
    if not sources:
        return instruction
    if instruction.encoding is Encoding.DS:
        sources[0] = _at(sources[0], V_OFFSET)
        bits = replace(bits, offset=encoder.random.randrange(4) * 8, offset1=encoder.random.randrange(4), gds=False)
    elif instruction.encoding is Encoding.SMEM:
        sources[:2] = _at(sources[0], S_BASE if sources[0].count == 2 else S_RESOURCE), _at(sources[1], S_SMALL)
        bits = replace(bits, offset=encoder.random.randrange(0, 256, 4))
    elif instruction.encoding is Encoding.MUBUF:
        sources[:2] = _at(sources[0], V_INDEX if bits.idxen else V_OFFSET), _at(sources[1], S_RESOURCE)
        if sources[2].file is RegisterFile.SGPR:
            sources[2] = _at(sources[2], S_SMALL)
        bits = replace(bits, offset=encoder.random.randrange(0, 256, 8))
    else:
        vector = {Encoding.FLAT: V_FLAT, Encoding.SCRATCH: V_SCRATCH}.get(
            instruction.encoding, V_GLOBAL if sources[0].count == 2 else V_OFFSET
        )
        scalar = S_SMALL if instruction.encoding is Encoding.SCRATCH else S_BASE
        sources[:2] = _at(sources[0], vector), _at(sources[1], scalar)
        bits = replace(bits, offset=encoder.random.randrange(0, 64, 8))
    return replace(instruction, sources=tuple(sources), memory=replace(bits, offset=bits.offset + beyond))


def _keeps_addresses(instruction: Instruction) -> bool:
    return not any(
        operand.index + operand.count > (V_OFFSET if operand.is_vector else S_BASE)
        for operand in instruction.destinations
        if operand.file is not RegisterFile.AGPR
    )


def _memory_instructions(seed: int, count: int, *, faulty: bool) -> list[Instruction]:
    encoder = Encoder(seed)
    drawn = _instructions(seed, count, ("ds", "flat", "mubuf", "smem"))
    beyond = (1, 2, 3000, 4090, 8100, -64) if faulty else (0,)
    return [
        _addressed(instruction, encoder, encoder.random.choice(beyond))
        for instruction in drawn
        if _keeps_addresses(instruction)
    ]


def test_random_accesses_leave_the_same_memory(cache: Path) -> None:
    code = executable(_memory_instructions(21, 200, faulty=False), 21, Mode())
    assert len({instruction.name for instruction in code}) > 50
    wrong, translator = one_by_one(cache, code, 21, Mode())
    assert not wrong, "\n".join(wrong)
    assert not translator.work.interpreted
    wrong, _ = together(cache, code, 21, Mode())
    assert not wrong


def test_faults_say_the_same_and_change_nothing(cache: Path) -> None:
    code = _memory_instructions(22, 160, faulty=True)
    wrong, _ = one_by_one(cache, code, 22, Mode())
    assert not wrong, "\n".join(wrong)
    side = make_side(None, [part for one in code for part in (one, control("s_barrier"))], 22, Mode())
    said = [twins._complaint(side, side.code.address + 2 * SLOT * number) for number in range(len(code))]
    assert sum(kind in text for text in said for kind in (FaultKind.OUT_OF_BOUNDS, FaultKind.MISALIGNED)) > 40


def test_a_write_to_read_only_memory_is_the_same_fault(cache: Path) -> None:
    store = make(
        "global_store_dword", Encoding.GLOBAL, [], [v(V_GLOBAL, 2), Operand(file=RegisterFile.OFF, count=0), v(1)]
    )
    complaints = []
    for translator in (None, Translator(cache)):
        code = [replace(store, memory=MemoryBits(offset=0)), control("s_endpgm")]
        side = make_side(translator, code, 3, Mode())
        address = next(one.address for one in side.memory.allocations if one.name == "constants")
        side.wave.vgprs[V_GLOBAL], side.wave.vgprs[V_GLOBAL + 1] = address & 0xFFFFFFFF, address >> 32
        with pytest.raises(FaultError) as caught:
            side.program.run(side.wave, 100)
        complaints.append(str(caught.value))
        assert side.wave.executed == 1
    assert complaints[0] == complaints[1]
    assert FaultKind.READ_ONLY in complaints[0]


@pytest.mark.parametrize("name", MATRIX)
def test_every_matrix_instruction_gives_the_same_bits(name: str, cache: Path) -> None:
    operation = MATRIX[name]
    registers = max(1, operation.elements * operation.a.bits // 32)
    results = operation.results * (2 if operation.result == "f64" else 1)
    target, other = v(64, results), v(128, results)
    code = [
        make(name, Encoding.MAI, [target], [v(0, registers), v(32, registers), target]),
        make(name, Encoding.MAI, [target], [v(32, registers), v(0, registers), integer(0)]),
        make(name, Encoding.MAI, [other], [v(0, registers), v(32, registers), target]),
    ]
    for seed in (1, 2):
        sides = [make_side(one, [*code, control("s_endpgm")], seed, Mode()) for one in (None, Translator(cache))]
        random = np.random.default_rng(seed)
        # ordinary numbers: random words are mostly infinities, NaN and zeros to 16-bit and wider floats
        kind = {"f32": np.float32, "xf32": np.float32, "f64": np.float64, "f16": np.float16}.get(operation.a.label)
        numbers = random.standard_normal(64 * 64).astype(kind or np.float32)
        filled = np.frombuffer(numbers.tobytes(), np.uint32).reshape(-1, 64)
        for side in sides if kind is not None and seed == 1 else ():
            side.wave.vgprs[: len(filled)] = filled
        for side in sides:
            twins.finish(side)
        assert not twins.differences(*sides)


@pytest.mark.parametrize("architecture", ["x86-64", "x86-64-v2"])
def test_processors_without_fused_or_half_precision_instructions_give_the_same_bits(
    architecture: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("levels of another architecture")
    monkeypatch.setattr(compiler, "_architecture", lambda _machine: (f"-march={architecture}",))
    code = executable(_instructions(14, 80, ("vop2", "vop3", "vop3p")), 14, Mode())
    wrong, _ = one_by_one(cache, code, 14, Mode())
    assert not wrong, "\n".join(wrong)


def test_a_kernel_that_does_not_end_is_stopped_at_the_same_place(cache: Path) -> None:
    code = [
        make("s_add_u32", Encoding.SOP2, [s(4)], [s(4), integer(1)]),
        make("s_xor_b32", Encoding.SOP2, [s(5)], [s(5), s(4)]),
        control("s_branch", -3 * SLOT // 4 & 0xFFFF),
    ]
    sides = [make_side(one, code, 1, Mode()) for one in (None, Translator(cache))]
    for side in sides:
        side.program.run(side.wave, 1000)
        assert side.wave.executed == 1002, "the turn ends behind the branch"
        assert side.wave.instruction is not None
        assert side.wave.instruction.name == "s_branch"
    assert not twins.differences(*sides)
