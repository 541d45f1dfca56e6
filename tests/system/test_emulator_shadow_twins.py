"""Both executors follow undefined bits alike: random instructions on partly undefined registers and memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, Encoding, Instruction, MemoryBits
from rocmatrix.emulator.semantics.matrix import MATRIX
from rocmatrix.emulator.shadow.memory import LocalShadow, Stores
from rocmatrix.emulator.shadow.origin import Findings
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.translator.program import UNDEFINED, TranslatedProgram, Translator
from rocmatrix.emulator.wave import Status
from tests.system.test_emulator_translator import _instructions, _memory_instructions
from tests.unit.emulator.machine import a, integer, make, v
from tests.unit.emulator.translator import twins
from tests.unit.emulator.translator.twins import SLOT, Side, control, executable

pytestmark = pytest.mark.needs_llvm

_SHARE = 0.2
"""Of registers and of bytes of memory that have undefined bits."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translated")


def _tracked(**parts: object) -> TrackedWave:
    lds = parts["lds"]
    return TrackedWave(findings=Findings(), lds_shadow=LocalShadow(lds), stores=Stores(), **parts)  # type: ignore[arg-type]  # as twins makes them


def _wave(side: Side) -> TrackedWave:
    assert isinstance(side.wave, TrackedWave)
    return side.wave


def _sides(cache: Path, code: Sequence[Instruction]) -> tuple[Side, Side, Translator]:
    translator = Translator(cache)
    reference, translated = (twins.make_side(one, code, 5, Mode(), make=_tracked) for one in (None, translator))
    return reference, translated, translator


def _sparse(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Return undefined bits of some registers, in some lanes of those: whole ones, halves, bytes."""
    patterns = np.array([0xFFFFFFFF, 0xFFFF0000, 0xFFFF, 0xFF00, 1], dtype=np.uint32)
    chosen = random.random(shape[:1]) < _SHARE
    lanes = random.random(shape) < random.choice([0.05, 0.5, 1.0], shape[:1]).reshape(-1, *[1] * (len(shape) - 1))
    drawn = random.choice(patterns, shape)
    return np.where(chosen.reshape(-1, *[1] * (len(shape) - 1)) & lanes, drawn, 0).astype(np.uint32)


def _make_undefined(side: Side, seed: int) -> None:
    """Give a side the undefined bits that follow from a seed."""
    random = np.random.default_rng(seed)
    wave = _wave(side)
    for file in (wave.shadow.vgprs, wave.shadow.agprs):
        file.bits[:] = _sparse(random, (256, 64))
        file.origins.clear()
        for register in range(256):
            file.refresh(register)
    wave.shadow.sgprs[:] = _sparse(random, (128,))
    wave.shadow.sgprs[EXEC : EXEC + 2] = 0
    wave.shadow.scalar_origins.clear()
    wave.shadow.scc = bool(random.random() < _SHARE)
    side.data.begin_shadow()
    for shadow in (wave.lds_shadow.data, wave.scratch_shadow.data, side.data.undefined):
        assert shadow is not None
        shadow[:] = random.choice(np.array([0xFF, 0x0F], np.uint8), shadow.shape)
        shadow[random.random(shadow.shape) > _SHARE / 25] = 0
    for stores in (wave.stores, wave.lds_shadow.stores, wave.scratch_shadow.stores):
        stores.by_byte.clear()
    wave.findings.found.clear()
    if isinstance(side.program, TranslatedProgram):
        side.program._table.refresh()


def _undefined(side: Side) -> dict[str, bytes]:
    wave = _wave(side)
    undefined = side.data.undefined
    return {
        "vgprs": wave.shadow.vgprs.bits.tobytes(),
        "lanes of vgprs": wave.shadow.vgprs.lanes.tobytes(),
        "agprs": wave.shadow.agprs.bits.tobytes(),
        "lanes of agprs": wave.shadow.agprs.lanes.tobytes(),
        "sgprs": wave.shadow.sgprs.tobytes(),
        "scc": bytes([wave.shadow.scc]),
        "lds": wave.lds_shadow.data.tobytes(),
        "scratch": wave.scratch_shadow.data.tobytes(),
        "data": b"" if undefined is None else undefined.tobytes(),
    }


def _differences(reference: Side, translated: Side) -> list[str]:
    want, got = _undefined(reference), _undefined(translated)
    wrong = [f"other undefined bits in {name}" for name in want if want[name] != got[name]]
    said = [[str(fault) for fault in _wave(side).findings.all] for side in (reference, translated)]
    if said[0] != said[1]:
        wrong.append(f"it says {said[1]}, not {said[0]}")
    return wrong + twins.differences(reference, translated)


def _one_by_one(cache: Path, code: Sequence[Instruction]) -> tuple[list[str], Translator, int]:
    stopped = [part for one in code for part in (one, control(twins.BARRIER))] + [control(twins.END)]
    *sides, translator = _sides(cache, stopped)
    wrong, reports = [], 0
    for number, instruction in enumerate(code):
        for side in sides:
            _make_undefined(side, number)
            side.wave.status, side.wave.pc = Status.READY, side.code.address + 2 * SLOT * number
            side.program.run(side.wave, 1 << 30)
        found = _differences(sides[0], sides[1])
        reports += len(_wave(sides[0]).findings.all)
        if found:
            wrong.append(f"{instruction}: {'; '.join(found)}\n  {instruction!r}")
            twins.copy_state(sides[0], sides[1])
    return wrong, translator, reports


def _together(cache: Path, code: Sequence[Instruction], seeds: Sequence[int]) -> tuple[list[str], Translator]:
    """Run everything as long blocks, whose defined stretches are generated code."""
    wrong = []
    for seed in seeds:
        *sides, translator = _sides(cache, [*code, control(twins.END)])
        for side in sides:
            _make_undefined(side, seed)
            twins.finish(side)
        wrong += _differences(sides[0], sides[1])
    return wrong, translator


@pytest.mark.parametrize(
    "formats",
    [("sop1", "sop2", "sopc", "sopk"), ("vop1", "vop2", "vopc", "vop3"), ("vop3p",)],
    ids=["scalar", "vector", "packed"],
)
def test_random_instructions_leave_the_same_undefined_bits(formats: tuple[str, ...], cache: Path) -> None:
    code = executable(_instructions(51, 60, formats), 5, Mode())
    wrong, translator, _ = _one_by_one(cache, code)
    assert not wrong, "\n".join(wrong)
    assert translator.work.translated > len(code) / 2, "most are defined, and generated code runs them"
    assert translator.work.interpreted[UNDEFINED] > len(code) / 20
    wrong, _ = _together(cache, code, (1, 2))
    assert not wrong


def test_random_accesses_leave_the_same_undefined_bits(cache: Path) -> None:
    code = executable(_memory_instructions(52, 60, faulty=False), 5, Mode())
    wrong, translator, reports = _one_by_one(cache, code)
    assert not wrong, "\n".join(wrong)
    assert translator.work.interpreted[UNDEFINED] > len(code) / 20
    assert reports > 0, "some addresses and atomics depend on undefined bits"
    wrong, _ = _together(cache, code, (1,))
    assert not wrong


def test_one_undefined_byte_of_any_lane_is_seen(cache: Path) -> None:
    read = make("ds_read_b64", Encoding.DS, [v(2, 2)], [v(1)], memory=MemoryBits())
    *sides, translator = _sides(cache, [read, control(twins.END)])
    for lane in (0, 1, 31, 32, 63):
        for side in sides:
            wave = _wave(side)
            _define_everything(wave)
            wave.set_exec(np.ones(64, np.bool_))
            wave.vgprs[1] = 8 * np.arange(64)
            wave.lds_shadow.data[0, 8 * lane + lane % 8] = 1
            wave.status, wave.pc = Status.READY, side.code.address
            side.program.run(wave, 1 << 30)
        assert not _differences(sides[0], sides[1])
        assert np.flatnonzero(_wave(sides[1]).shadow.vgprs.bits[2:4].any(axis=0)).tolist() == [lane]
    assert translator.work.interpreted[UNDEFINED] == 2 * 5, "the load, and the end that is no block of its own"


def _define_everything(wave: TrackedWave) -> None:
    for file in (wave.shadow.vgprs, wave.shadow.agprs):
        file.bits[:], file.lanes[:] = 0, 0
    wave.shadow.sgprs[:] = 0
    wave.shadow.scc = False
    wave.lds_shadow.data[:] = 0


def test_matrix_instructions_leave_the_same_undefined_bits(cache: Path) -> None:
    code = []
    for name in sorted(MATRIX)[::4]:
        counts = MATRIX[name].registers
        sources = [v(0, counts[0]), v(32, counts[1]), integer(0)]
        code.append(make(name, Encoding.MAI, [a(64, counts[2])], sources))
    wrong, _, _ = _one_by_one(cache, executable(code, 5, Mode()))
    assert not wrong, "\n".join(wrong)
