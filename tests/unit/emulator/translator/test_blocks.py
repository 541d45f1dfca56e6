"""Which basic blocks code has, and which instructions are left to the reference."""

from __future__ import annotations

from collections.abc import Sequence

from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Encoding, Instruction
from rocmatrix.emulator.translator.blocks import Translation
from tests.unit.emulator.machine import integer, make, s, v
from tests.unit.emulator.translator.twins import SLOT, control, make_side

MOVE = make("s_mov_b32", Encoding.SOP1, [s(4)], [integer(1)])
ADD = make("v_add_u32", Encoding.VOP2, [v(1)], [v(2), v(3)])


def _translation(code: Sequence[Instruction], *, known: Sequence[int] = ()) -> Translation:
    side = make_side(None, code, 0, Mode())
    translation = Translation(side.program, side.code.address, Mode(), known)
    translation.translate(0)
    return translation


def _branch(name: str, slots: int) -> Instruction:
    """Branch to so many slots behind the next instruction."""
    return control(name, slots * SLOT // 4 & 0xFFFF)


def _offsets(translation: Translation) -> list[int]:
    return sorted(block.offset // SLOT for block in translation.blocks)


def test_straight_code_is_one_block() -> None:
    translation = _translation([MOVE, ADD, control("s_nop"), control("s_endpgm")])
    assert _offsets(translation) == [0]
    assert translation.blocks[0].last == 3 * SLOT
    assert not translation.refusals


def test_a_loop_is_a_block_that_is_entered_at_its_head() -> None:
    translation = _translation([MOVE, ADD, _branch("s_cbranch_scc1", -2), control("s_endpgm")])
    assert _offsets(translation) == [0, 1, 3]


def test_both_sides_of_a_branch_are_translated_and_what_nothing_reaches_is_not() -> None:
    translation = _translation([_branch("s_branch", 1), ADD, _branch("s_cbranch_execz", 1), MOVE, control("s_endpgm")])
    assert _offsets(translation) == [0, 2, 3, 4]


def test_code_goes_on_behind_a_barrier() -> None:
    assert _offsets(_translation([MOVE, control("s_barrier"), ADD, control("s_endpgm")])) == [0, 2]


def test_an_unknown_instruction_is_named_and_what_is_behind_it_is_translated() -> None:
    clock = make("s_memtime", Encoding.SMEM, [s(6, 2)], [])
    translation = _translation([MOVE, clock, ADD, control("s_endpgm")])
    assert _offsets(translation) == [0, 2]
    assert "s_memtime" in translation.refusals[SLOT].reason


def test_an_instruction_that_the_model_refuses_is_left_to_the_reference_for_its_message() -> None:
    refused = make("v_add_f32", Encoding.VOP3, [v(1)], [v(2), v(3)], omod=1)
    translation = _translation([MOVE, refused, ADD, control("s_endpgm")])
    assert _offsets(translation) == [0, 2]
    assert "output modifier" in translation.refusals[SLOT].reason


def test_blocks_that_are_there_already_are_not_written_again() -> None:
    translation = _translation([MOVE, ADD, control("s_endpgm")], known=[SLOT])
    assert _offsets(translation) == [0]
    assert translation.blocks[0].last == 0


def test_long_blocks_are_cut() -> None:
    translation = _translation([ADD] * 700 + [control("s_endpgm")])
    assert len(translation.blocks) > 2
    assert max(block.last for block in translation.blocks) == 700 * SLOT


def test_generated_code_holds_no_address() -> None:
    code = [make("s_getpc_b64", Encoding.SOP1, [s(4, 2)], []), _branch("s_branch", -2)]
    side = make_side(None, code, 0, Mode())
    translation = Translation(side.program, side.code.address, Mode(), ())
    translation.translate(0)
    text = translation.blocks[0].text
    assert f"{side.code.address + SLOT:x}" not in text
    assert "W->base" in text
