"""The parts that instructions play in hazards: what ``hazards.toml`` calls producers and consumers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rocmatrix.emulator.analysis.code import Step, step_of
from rocmatrix.emulator.analysis.effects import (
    EXEC_PAIR,
    FIRST_VGPR,
    NONE,
    VCC_PAIR,
    Unit,
    is_vector_arithmetic,
    is_vector_memory,
    registers_of,
    union,
)
from rocmatrix.emulator.analysis.hazard_rules import hazard_table
from rocmatrix.emulator.instruction import EXECZ, M0, VCCZ, Encoding, Instruction, Operand, RegisterFile, Select
from rocmatrix.emulator.reports import UnsupportedError

_MODE, _TRAP_STATUS = 1, 3
_VSKIP_BIT = 28
_LANE_READS = ("v_readlane_b32", "v_readfirstlane_b32")
_LANE_ACCESSES = (*_LANE_READS, "v_writelane_b32")
_DOTS = ("v_dot2_", "v_dot4_", "v_dot8_", "v_dot2c_", "v_dot4c_", "v_dot8c_")
_SELECTS_RESULT = 0b1000
_BYTE_RESULTS = ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32")
_WIDE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """One part that an instruction plays.

    Attributes:
        name: as the table calls it.
        registers: those that the hazard is about; or the number of a hardware register.
        operand: all registers of the operand at once, where the table wants whole operands compared.
    """

    name: str
    registers: frozenset[int] = NONE
    operand: frozenset[int] = NONE


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """All parts that an instruction plays.

    Attributes:
        produces: parts as the first of two instructions.
        consumes: parts as the second.
        passes: passes of a matrix instruction, otherwise 2.
        wait_states: how far it keeps its neighbours apart.
    """

    produces: tuple[Role, ...]
    consumes: tuple[Role, ...]
    passes: int
    wait_states: int


@lru_cache(maxsize=1 << 16)
def roles_of(encoding: bytes) -> Roles:
    """Return the parts that an instruction plays, by its bytes.

    Raises:
        UnsupportedError: it is a matrix instruction that the table does not have.
    """
    step = step_of(encoding)
    instruction = step.instruction
    kind = hazard_table().matrix_kind(instruction.name) if step.effects.unit is Unit.MATRIX else None
    if kind is None and step.effects.unit is Unit.MATRIX:
        raise UnsupportedError(f"the matrix instruction {instruction.name}, whose hazards are not known")
    return Roles(
        produces=tuple(_produces(step)),
        consumes=tuple(_consumes(step)),
        passes=kind.passes if kind else 2,
        wait_states=(instruction.immediate & 0xF) + 1 if instruction.name == "s_nop" else 1,
    )


def vectors(registers: frozenset[int]) -> frozenset[int]:
    """Return those that are VGPRs or AGPRs."""
    return frozenset(register for register in registers if register >= FIRST_VGPR)


def scalars(registers: frozenset[int]) -> frozenset[int]:
    """Return those that are SGPRs, EXEC aside."""
    return frozenset(register for register in registers if register < FIRST_VGPR) - EXEC_PAIR


def _hardware_register(instruction: Instruction) -> tuple[int, int]:
    """Return number and bits that s_getreg or s_setreg is about."""
    number, first = instruction.immediate & 0x3F, instruction.immediate >> 6 & 0x1F
    width = (instruction.immediate >> 11 & 0x1F) + 1
    return number, (1 << width) - 1 << first


# -- producers -----------------------------------------------------------------------------------------------------


def _produces(step: Step) -> Iterator[Role]:
    instruction, effects = step.instruction, step.effects
    written = vectors(effects.writes)
    if written:
        yield Role(name="vgpr", registers=written)
    if effects.unit is Unit.MATRIX:
        yield from _matrix_produces(instruction)
    elif effects.unit is Unit.VALU:
        yield from _arithmetic_produces(step, written)
    elif effects.unit is Unit.SALU:
        yield from _scalar_produces(step)
    elif is_vector_memory(effects.unit) and _is_wide_store(instruction):
        yield Role(name="wide store data", registers=vectors(effects.data))


def _is_wide_store(instruction: Instruction) -> bool:
    """Say whether an instruction takes more than 64 bits of data along in a way that needs care."""
    if "_store_" not in instruction.name and "_atomic_" not in instruction.name:
        return False
    data = instruction.sources[-1]
    scalar_offset = instruction.encoding is Encoding.MUBUF and instruction.sources[2].file is RegisterFile.SGPR
    return data.count > _WIDE and not scalar_offset


def _matrix_produces(instruction: Instruction) -> Iterator[Role]:
    kind = hazard_table().matrix_kind(instruction.name)
    if kind is None:
        return
    result = registers_of(instruction.destinations[0])
    yield Role(name=kind.kind, registers=result, operand=result)
    if kind.kind.startswith("dgemm"):
        yield Role(name="dgemm")
    if kind.kind == "xdl" and (added := matrix_c(instruction)):
        yield Role(name="xdl c", registers=added)


def matrix_c(instruction: Instruction) -> frozenset[int]:
    """Return the registers that a matrix instruction adds to; the sparse ones add to their result."""
    if instruction.name.startswith("v_smfmac"):
        return registers_of(instruction.destinations[0])
    return registers_of(instruction.sources[2])


def _arithmetic_produces(step: Step, written: frozenset[int]) -> Iterator[Role]:
    instruction, effects = step.instruction, step.effects
    scalar = scalars(effects.writes)
    if scalar:
        yield Role(name="valu sgpr", registers=scalar)
    if effects.writes & EXEC_PAIR:
        yield Role(name="valu exec")
    if effects.writes & (EXEC_PAIR | VCC_PAIR):
        yield Role(name="valu exec or vcc")
    if not written:
        return
    yield Role(name="valu vgpr", registers=written)
    if instruction.name.startswith(_DOTS):
        yield Role(name="dot", registers=written)
    else:
        yield Role(name="valu vgpr, not dot", registers=written)
    if instruction.name in hazard_table().transcendental:
        yield Role(name="transcendental", registers=written)
    if _shifts_result(instruction):
        yield Role(name="shifted result", registers=written)


def _shifts_result(instruction: Instruction) -> bool:
    """Say whether the result goes to other bits of the destination than it was computed in."""
    if instruction.sdwa is not None:
        return instruction.sdwa.destination is not Select.DWORD
    if instruction.encoding is Encoding.VOP3:
        bits = 0b1100 if instruction.name in _BYTE_RESULTS else _SELECTS_RESULT
        return bool(instruction.op_sel & bits)
    return False


def _scalar_produces(step: Step) -> Iterator[Role]:
    instruction = step.instruction
    if M0 in step.effects.writes:
        yield Role(name="salu m0", registers=frozenset((M0,)))
    if instruction.name.startswith("s_setreg_"):
        number, bits = _hardware_register(instruction)
        yield Role(name="setreg", registers=frozenset((number,)))
        if number == _MODE and bits >> _VSKIP_BIT & 1:
            yield Role(name="setreg vskip")
        if number == _TRAP_STATUS:
            yield Role(name="setreg trapsts")


# -- consumers -----------------------------------------------------------------------------------------------------


def _consumes(step: Step) -> Iterator[Role]:
    instruction, effects = step.instruction, step.effects
    unit = effects.unit
    is_memory = is_vector_memory(unit) or unit is Unit.LDS
    if M0 in effects.reads and not is_vector_arithmetic(unit) and _needs_settled_m0(instruction):
        yield Role(name="m0", registers=frozenset((M0,)))
    if unit is Unit.SALU:
        yield from _scalar_consumes(instruction)
    if is_vector_arithmetic(unit):
        yield from _arithmetic_consumes(step)
    if unit is Unit.MATRIX:
        yield from _matrix_consumes(instruction)
    if is_vector_memory(unit) and (scalar := scalars(effects.sources)):
        yield Role(name="vmem sgpr", registers=scalar)
    if is_memory:
        yield Role(name="memory reads", registers=vectors(effects.sources))
    if is_memory or unit is Unit.VALU:
        yield Role(name="vgpr outside matrix", registers=vectors(effects.everything))
        yield Role(name="written outside matrix", registers=vectors(effects.writes))
    if is_memory or is_vector_arithmetic(unit):
        yield Role(name="vector")


def _needs_settled_m0(instruction: Instruction) -> bool:
    return instruction.name.startswith(("s_movrel", "s_sendmsg", "s_ttracedata", "ds_")) or (
        instruction.memory is not None and instruction.memory.lds
    )


def _scalar_consumes(instruction: Instruction) -> Iterator[Role]:
    if instruction.name == "s_getreg_b32":
        yield Role(name="getreg", registers=frozenset((_hardware_register(instruction)[0],)))
    if instruction.name.startswith("s_setreg_"):
        yield Role(name="setreg", registers=frozenset((_hardware_register(instruction)[0],)))
    if instruction.name.startswith("s_rfe"):
        yield Role(name="rfe")


def _arithmetic_consumes(step: Step) -> Iterator[Role]:
    instruction, effects = step.instruction, step.effects
    name, read = instruction.name, vectors(effects.sources)
    yield Role(name="valu writes", registers=vectors(effects.writes))
    yield Role(name="valu vgpr", registers=vectors(effects.everything))
    if name not in hazard_table().transcendental:
        yield Role(name="valu reads, not transcendental", registers=read)
    if scalar := scalars(effects.sources):
        yield Role(name="valu sgpr", registers=scalar)
    if any(_is_zero_flag(source) for source in instruction.sources):
        yield Role(name="execz or vccz")
    if instruction.dpp is not None:
        yield Role(name="dpp vgpr", registers=read)
        yield Role(name="dpp")
    if name in _LANE_ACCESSES:
        yield from _lane_consumes(instruction)
    yield from _special_consumes(instruction)


def _lane_consumes(instruction: Instruction) -> Iterator[Role]:
    yield Role(name="lane access")
    if len(instruction.sources) > 1:
        yield Role(name="lane select", registers=scalars(registers_of(instruction.sources[1])))
    if instruction.name in _LANE_READS:
        yield Role(name="readlane vgpr", registers=registers_of(instruction.sources[0]))


def _special_consumes(instruction: Instruction) -> Iterator[Role]:
    if instruction.name.startswith("v_div_fmas_"):
        yield Role(name="div fmas vcc", registers=VCC_PAIR)
    if instruction.name.startswith(("v_fma_f64", "v_fmac_f64")):
        yield Role(name="fma f64")
    if instruction.name.startswith(_DOTS):
        yield Role(name="dot a or b", registers=vectors(union(instruction.sources[:2])))


def _is_zero_flag(operand: Operand) -> bool:
    return operand.file is RegisterFile.CONSTANT and operand.index in (EXECZ, VCCZ)


def _matrix_consumes(instruction: Instruction) -> Iterator[Role]:
    kind = hazard_table().matrix_kind(instruction.name)
    added = matrix_c(instruction)
    is_sparse = instruction.name.startswith("v_smfmac")
    multiplied = union(instruction.sources if is_sparse else instruction.sources[:2])
    yield Role(name="matrix")
    yield Role(name="matrix reads", registers=added | multiplied)
    yield Role(name="matrix a or b", registers=multiplied)
    if added:
        yield Role(name="matrix c", registers=added, operand=added)
        if kind is not None and kind.kind != "xdl":
            yield Role(name="sgemm or dgemm c", registers=added, operand=added)
        if kind is not None and kind.kind == "dgemm 4x4":
            yield Role(name="dgemm 4x4 c", registers=added, operand=added)
