"""The same instructions in the same state for both executors, and what differs afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Encoding, Instruction
from rocmatrix.emulator.interpreter import Program, handler_of, run_instruction
from rocmatrix.emulator.memory import Allocation, LocalMemory, Memory
from rocmatrix.emulator.registers import PRIVATE_APERTURE, SHARED_APERTURE
from rocmatrix.emulator.reports import FaultError, UnsupportedError, WaveId
from rocmatrix.emulator.semantics.control import FLOWS
from rocmatrix.emulator.translator.program import Translator
from rocmatrix.emulator.wave import Status, Wave
from tests.unit.emulator.machine import words

SLOT = 8
"""Bytes that each instruction takes."""
LDS_BYTES, SCRATCH_BYTES, DATA_BYTES = 4096, 256, 8192
MEMORIES = ("data", "lds", "scratch")
BARRIER, END = "s_barrier", "s_endpgm"


V_OFFSET, V_GLOBAL, V_FLAT, V_INDEX, V_SCRATCH = 240, 242, 244, 246, 248
"""Vector registers: small offsets; 64-bit addresses; in three apertures; indices, offsets; small offsets."""
S_BASE, S_SMALL, S_RESOURCE, S_STRIDED = 88, 90, 92, 96


def control(name: str, immediate: int = 0) -> Instruction:
    return Instruction(address=0, size=SLOT, name=name, encoding=Encoding.SOPP, immediate=immediate)


@dataclass(frozen=True, eq=False)
class Side:
    """One executor's memory, wave and program."""

    memory: Memory
    code: Allocation
    data: Allocation
    wave: Wave
    program: Program


def make_side(
    translator: Translator | None,
    code: Sequence[Instruction],
    seed: int,
    mode: Mode,
    make: Callable[..., Wave] = Wave,
) -> Side:
    """Return a side whose memory, registers and addresses follow from the seed; ``make`` makes its wave."""
    random = np.random.default_rng(seed)
    memory = Memory()
    place = memory.allocate(SLOT * len(code), "the code", writable=False)
    data = memory.allocate(DATA_BYTES, "the data")
    memory.allocate(64, "constants", writable=False)
    data.data.view(np.uint32)[:] = words(random, DATA_BYTES // 4)
    wave = make(
        identity=WaveId(workgroup=(0, 0, 0), wave=0),
        kernel="twins",
        mode=mode,
        pc=place.address,
        lds=LocalMemory(LDS_BYTES, "the workgroup's LDS"),
        scratch=LocalMemory(SCRATCH_BYTES, "the lane's scratch", rows=64),
        memory=memory,
        observer=None,
    )
    wave.lds.data.view(np.uint32)[:] = words(random, LDS_BYTES // 4)
    wave.scratch.data.view(np.uint32)[:] = words(random, 64 * SCRATCH_BYTES // 4).reshape(64, -1)
    wave.sgprs[:] = words(random, 128)
    for file in (wave.vgprs, wave.agprs):
        file[:] = words(random, 256 * 64).reshape(256, 64)
        _put_halves(file, random)
    wave.set_exec(random.random(64) < 0.8)
    _address_registers(wave, data.address, random)
    program = Program(memory, "twins") if translator is None else translator(memory, "twins")
    for number, instruction in enumerate(code):
        address = place.address + SLOT * number
        placed = replace(instruction, address=address, size=SLOT)
        # as many bytes as identify the instruction: the cache of translations goes by the bytes of the code
        stamp = hashlib.sha256(repr(instruction).encode()).digest()[:SLOT]
        place.data[SLOT * number : SLOT * (number + 1)] = np.frombuffer(stamp, np.uint8)
        flow = FLOWS.get(instruction.name)
        program._decoded[address] = placed, flow, None if flow is not None else handler_of(placed)
    return Side(memory, place, data, wave, program)


def _put_halves(file: NDArray[np.uint32], random: np.random.Generator) -> None:
    """Put small multiples of 1/2, where rounding has ties, into some lanes: as float32, as float64, as two float16."""
    halves = random.integers(-20, 20, (256, 64)) * 0.5
    file[:, 16:28] = halves[:, 16:28].astype(np.float32).view(np.uint32)
    file[:, 28:40] = 0
    file[1::2, 28:40] = halves[1::2, 28:40].astype(np.float64).view(np.uint64) >> np.uint64(32)
    file[:, 40:52] = halves[:, 40:52].astype(np.float16).view(np.uint16) * np.uint32(0x10001)


def _address_registers(wave: Wave, data: int, random: np.random.Generator) -> None:
    """Set registers that instructions use as addresses; see ``addressed``."""
    small = random.integers(0, 128, 64).astype(np.uint32) * 8
    wave.vgprs[V_OFFSET] = small
    flat = np.where(random.random(64) < 0.3, SHARED_APERTURE, np.where(random.random(64) < 0.3, PRIVATE_APERTURE, data))
    near = small & np.uint32(0x7F)
    for register, base in ((V_GLOBAL, np.full(64, data)), (V_FLAT, flat)):
        addresses = base.astype(np.uint64) + near
        wave.vgprs[register], wave.vgprs[register + 1] = addresses, addresses >> np.uint64(32)
    wave.vgprs[V_INDEX], wave.vgprs[V_INDEX + 1] = random.integers(0, 40, 64), small
    wave.vgprs[V_SCRATCH] = near
    wave.sgprs[S_BASE : S_BASE + 2] = data & 0xFFFFFFFF, data >> 32
    wave.sgprs[S_SMALL] = 16
    wave.sgprs[S_RESOURCE : S_RESOURCE + 4] = data & 0xFFFFFFFF, data >> 32, 1000, 0
    wave.sgprs[S_STRIDED : S_STRIDED + 4] = data & 0xFFFFFFFF, data >> 32 | 16 << 16, 32, 0


def state(side: Side) -> dict[str, bytes]:
    """Return everything that instructions may change."""
    wave = side.wave
    return {
        "sgprs": wave.sgprs.tobytes(),
        "vgprs": wave.vgprs.tobytes(),
        "agprs": wave.agprs.tobytes(),
        "scc": bytes([wave.scc]),
        "pc": (wave.pc - side.code.address).to_bytes(8, "little", signed=True),
        "executed": wave.executed.to_bytes(8, "little"),
        "data": side.data.data.tobytes(),
        "lds": wave.lds.data.tobytes(),
        "scratch": wave.scratch.data.tobytes(),
        "status": wave.status.name.encode(),
    }


def differences(reference: Side, translated: Side) -> list[str]:
    """Return the parts of the state that are not the same, with the first place."""
    found = []
    mine = state(translated)
    for name, want in state(reference).items():
        got = mine[name]
        if want != got:
            at = next(number for number, pair in enumerate(zip(want, got, strict=True)) if pair[0] != pair[1]) // 4
            words_ = [np.frombuffer(part[at * 4 : at * 4 + 4].ljust(4, b"\0"), np.uint32)[0] for part in (want, got)]
            lane = f"{at // 64} lane {at % 64}" if name in ("vgprs", "agprs") else str(at)
            found.append(f"{name}[{lane}] is {words_[1]:#x}, not {words_[0]:#x}")
    return found


def memory_differences(reference: Side, translated: Side) -> list[str]:
    """Return the memories that are not the same."""
    return [difference for difference in differences(reference, translated) if difference.startswith(MEMORIES)]


def copy_state(source: Side, target: Side) -> None:
    """Give one side the other's registers and memory."""
    for name in ("sgprs", "vgprs", "agprs"):
        getattr(target.wave, name)[:] = getattr(source.wave, name)
    target.wave.set_exec(source.wave.active.copy())
    target.wave.executed = source.wave.executed
    target.wave.scc = source.wave.scc
    target.data.data[:] = source.data.data
    target.wave.lds.data[:] = source.wave.lds.data
    target.wave.scratch.data[:] = source.wave.scratch.data


def finish(side: Side) -> None:
    """Run until the wave has ended."""
    while side.wave.status is not Status.ENDED:
        side.wave.status = Status.READY
        side.program.run(side.wave, 1 << 30)


def one_by_one(cache: Path, code: Sequence[Instruction], seed: int, mode: Mode) -> tuple[list[str], Translator]:
    """Run instructions with a stop behind each; return what each did otherwise than the reference, faults included."""
    stopped = [part for instruction in code for part in (instruction, control(BARRIER))] + [control(END)]
    translator = Translator(cache)
    sides = make_side(None, stopped, seed, mode), make_side(translator, stopped, seed, mode)
    wrong = []
    for number, instruction in enumerate(code):
        said = [_complaint(side, side.code.address + 2 * SLOT * number) for side in sides]
        # registers after a fault are nobody's business
        found = differences(*sides) if said == ["", ""] else memory_differences(*sides)
        if said[0] != said[1]:
            found.append(f"it says {said[1]!r}, not {said[0]!r}")
        if found:
            wrong.append(f"{instruction}: {'; '.join(found)}\n  {instruction!r}")
        if found or any(said):
            copy_state(*sides)
    return wrong, translator


def _complaint(side: Side, address: int) -> str:
    """Run from an address to the next barrier; return the fault or refusal in words."""
    side.wave.status = Status.READY
    side.wave.pc = address
    try:
        side.program.run(side.wave, 1 << 30)
    except (UnsupportedError, FaultError) as err:
        return str(err)
    return ""


def together(cache: Path, code: Sequence[Instruction], seed: int, mode: Mode) -> tuple[list[str], Translator]:
    """Run instructions as long blocks; return the parts of the final state that differ."""
    translator = Translator(cache)
    whole = [*code, control(END)]
    sides = make_side(None, whole, seed, mode), make_side(translator, whole, seed, mode)
    for side in sides:
        finish(side)
    return differences(*sides), translator


def executable(code: Sequence[Instruction], seed: int, mode: Mode) -> list[Instruction]:
    """Return the instructions that the reference executes in this state, one after the other, without a complaint."""
    side = make_side(None, [*code, control(END)], seed, mode)
    good = []
    for number, instruction in enumerate(code):
        side.wave.pc = side.code.address + SLOT * number
        before = [part.copy() for part in (side.wave.sgprs, side.wave.vgprs, side.wave.agprs)]
        scc, active = side.wave.scc, side.wave.active.copy()
        try:
            run_instruction(side.wave, side.program)
        except (UnsupportedError, FaultError):
            side.wave.sgprs[:], side.wave.vgprs[:], side.wave.agprs[:] = before
            side.wave.scc = scc
            side.wave.set_exec(active)
            continue
        good.append(instruction)
    return good
