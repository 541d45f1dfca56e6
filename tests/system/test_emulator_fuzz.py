"""Any machine code: it is executed, refused in words, or a fault; both executors say the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.descriptor import Denormals, Mode, Rounding
from rocmatrix.emulator.instruction import Encoding, Instruction
from rocmatrix.emulator.interpreter import check_executable, handler_of
from rocmatrix.emulator.numerics import Approximation, Numerics
from rocmatrix.emulator.reports import AccessError, FaultError, UnsupportedError
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.control import FLOWS
from rocmatrix.emulator.semantics.rounding import DIRECTED
from rocmatrix.emulator.semantics.transcendental import APPROXIMATE
from rocmatrix.emulator.translator.program import Translator
from rocmatrix.emulator.wave import Wave
from tests.system.emulator_encodings import Encoder
from tests.unit.emulator.machine import make, make_wave, v, words
from tests.unit.emulator.translator.twins import control, differences, finish, make_side, one_by_one

_FLUSHING = Mode(denormals_32=Denormals.FLUSH_SOURCES_AND_RESULTS, dx10_clamp=False, ieee=False)
_DIRECTED = Mode(round_32=Rounding.TOWARDS_ZERO, round_16_64=Rounding.MINUS_INFINITY, fp16_overflow=True)
_WAVES, _EACH = 120, 100
_PAIRED = 150
_REFERENCE_ONLY = ("s_set", "s_get", "s_mem")


def _machine_code(seed: int) -> Iterator[bytes]:
    """Give encodings without end: three of four with a known format, the others any bits."""
    encoder, chance = Encoder(seed), random.Random(seed)  # noqa: S311 - reproducible, no secret
    while True:
        for encode in encoder.formats.values():
            words_ = encode() if chance.random() < 0.75 else tuple(chance.getrandbits(32) for _ in range(3))
            yield b"".join(word.to_bytes(4, "little") for word in words_).ljust(16, b"\0")


def _wave(seed: int) -> Wave:
    chance = np.random.default_rng(seed)
    wave = make_wave(mode=_FLUSHING if seed % 2 else Mode())
    wave.sgprs[:] = words(chance, 128)
    wave.vgprs[:] = words(chance, 256 * 64).reshape(256, 64)
    wave.agprs[:] = wave.vgprs
    wave.set_exec(chance.random(64) < 0.8)
    return wave


def _executed(code: bytes, wave: Wave) -> str:
    """Execute an encoding; say what became of it."""
    try:
        instruction = decode(code, 0)
        check_executable(instruction)
        if instruction.name in FLOWS:
            return "control flow"
        wave.instruction = instruction
        handler_of(instruction)(wave, instruction)
    except UnsupportedError:
        return "refused"
    except (AccessError, FaultError):
        return "a fault"
    return "executed"


def test_the_reference_executes_refuses_or_faults() -> None:
    codes = _machine_code(41)
    became: Counter[str] = Counter()
    with np.errstate(all="ignore"):
        for number in range(_WAVES):
            wave = _wave(number)
            became.update(_executed(next(codes), wave) for _ in range(_EACH))
    total = _WAVES * _EACH
    assert became.total() == total
    assert became["executed"] > total // 5
    assert became["refused"] > total // 5
    assert became["a fault"] > total // 50


def _instructions(seed: int, count: int) -> list[Instruction]:
    """Return instructions that are not refused before they run."""
    found: list[Instruction] = []
    for code in _machine_code(seed):
        try:
            instruction = decode(code, 0)
            check_executable(instruction)
        except (UnsupportedError, AccessError):
            continue
        if instruction.name not in FLOWS and not instruction.name.startswith(_REFERENCE_ONLY):
            found.append(instruction)
        if len(found) == count:
            break
    return found


@pytest.mark.needs_llvm
@pytest.mark.parametrize("mode", [Mode(), _FLUSHING, _DIRECTED], ids=["keep", "flush", "directed"])
def test_translated_code_does_and_says_the_same(mode: Mode, tmp_path: Path) -> None:
    wrong, translator = one_by_one(tmp_path, _instructions(42 + mode.bits % 7, _PAIRED), 42, mode)
    assert not wrong, "\n".join(wrong)
    assert translator.work.translated > _PAIRED // 2


@pytest.mark.needs_llvm
@pytest.mark.parametrize("end", [Approximation.LOW, Approximation.HIGH])
def test_approximations_are_at_the_same_end_in_both_executors(end: Approximation, tmp_path: Path) -> None:
    code = [make(name, Encoding.VOP1, [v(128 + place)], [v(place)]) for place, name in enumerate(APPROXIMATE)]
    sides = [make_side(one, [*code, control("s_endpgm")], 7, Mode()) for one in (None, Translator(tmp_path))]
    usual = make_side(None, [*code, control("s_endpgm")], 7, Mode())
    for side in sides:
        side.wave.numerics = Numerics(approximation=end)
    for side in (*sides, usual):
        finish(side)
    assert not differences(*sides)
    assert differences(usual, sides[0])


@pytest.mark.needs_llvm
@pytest.mark.parametrize("rounding", [Rounding.TOWARDS_ZERO, Rounding.PLUS_INFINITY, Rounding.MINUS_INFINITY])
def test_directed_rounding_gives_the_same_bits_in_both_executors(rounding: Rounding, tmp_path: Path) -> None:
    code = []
    for place, name in enumerate(name for name in DIRECTED if "_pk_" not in name):
        count = len(VECTOR[name].operands)
        sources = [v(8 * place + 2 * number, VECTOR[name].operands[number].registers) for number in range(count)]
        code.append(make(name, Encoding.VOP3, [v(200 + place)], sources))
    mode = Mode(round_32=rounding, round_16_64=rounding)
    sides = [make_side(one, [*code, control("s_endpgm")], 7, mode) for one in (None, Translator(tmp_path))]
    for side in sides:
        finish(side)
    assert not differences(*sides)
