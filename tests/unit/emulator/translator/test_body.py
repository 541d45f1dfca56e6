"""Where statements of generated code go, and what of them is left."""

from __future__ import annotations

import numpy as np
import pytest

from rocmatrix.emulator.algebra import BOOL, F16, F32, I16, I32, I64, U16, U32, U64, Kind, Op, convert, where
from rocmatrix.emulator.lanes import constant
from rocmatrix.emulator.translator.body import Body, Expression, expression
from rocmatrix.emulator.translator.operations import literal
from rocmatrix.emulator.translator.render import Renderer


def _lanes(body: Body, name: str = "x") -> Expression:
    return body.on_lanes(U32, f"{name}[g]")


def _keep(body: Body, value: Expression) -> None:
    body.store_lanes("out[g] = {0}", value)


def test_operations_on_lanes_share_one_loop() -> None:
    body = Body()
    total = expression(_lanes(body) + 1)
    _keep(body, expression(total * total))
    text = Renderer(body).text()
    assert text.count("LOOP {") == 1
    assert "_all" not in text


def test_a_mask_that_is_used_as_a_scalar_ends_the_loop_before_what_needs_it() -> None:
    body = Body()
    value = _lanes(body)
    bits = body.bits_of(expression(value > 3))
    _keep(body, expression(where(body.lanes_of(expression(bits ^ 1)), value, 0)))
    text = Renderer(body).text()
    assert text.count("LOOP {") == 2
    assert text.index("|= bits_of(") < text.index("^") < text.rindex("LOOP {")
    assert f"{value.name}_all[g] = {value.name};" in text, "the value crosses regions in an array"


def test_a_mask_made_of_bits_is_those_bits() -> None:
    body = Body()
    bits = body.parameter(U64, "exec")
    assert body.bits_of(body.lanes_of(bits)) is bits


def test_what_nobody_reads_is_left_out_and_effects_stay() -> None:
    body = Body()
    _lanes(body, "unread")
    body.scalar(U32, "unread_scalar")
    body.in_order("effect()")
    text = Renderer(body).text()
    assert "unread" not in text
    assert "effect()" in text


def test_effects_keep_their_order_and_scalars_that_need_no_lanes_come_first() -> None:
    body = Body()
    value = _lanes(body)
    body.in_order("first({0})", value, arrays=[0])
    body.in_order("second({0})", body.scalar(U32, "early"))
    text = Renderer(body).text()
    assert text.index("early") < text.index("LOOP {") < text.index("first(") < text.index("second(")


def test_what_an_effect_has_put_into_an_array_is_read_in_a_later_loop() -> None:
    body = Body()
    body.in_order("load({0}, loaded)", _lanes(body), arrays=[0])
    _keep(body, expression(body.array(U32, "loaded") + 1))
    text = Renderer(body).text()
    assert text.count("LOOP {") == 2
    assert text.index("load(") < text.index("((const v_u32*)loaded)[g]")


def test_the_same_statement_is_written_once() -> None:
    body = Body()
    value = _lanes(body)
    assert (value + 1) is (value + 1)
    assert (value + 1) is not (value + 2)


@pytest.mark.parametrize("kind", [U16, I16, U32, I32, U64, I64], ids=lambda kind: kind.label)
@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.SHL, Op.SHR, Op.LT, Op.XOR], ids=lambda op: op.name)
def test_constants_are_folded_as_the_reference_computes(kind: Kind, op: Op) -> None:
    result = BOOL if op is Op.LT else kind
    for a, b in ((-3, 5), (1 << (kind.bits - 1), 33), (-1, -1)):
        folded = Body().apply(op, (Body().constant(kind, a), Body().constant(kind, b)), result)
        want = constant(kind, a).apply(op, (constant(kind, b),), result).array[0]
        assert folded.name == literal(result, int(want))


def test_floats_are_not_folded() -> None:
    body = Body()
    assert "t1" in expression(body.constant(F32, 1.5) + body.constant(F32, 2.0)).name


@pytest.mark.parametrize(("kind", "number", "bits"), [(F16, -2.0, "0xc000"), (F32, 0.5, "0x3f000000")])
def test_float_constants_are_written_as_their_bits(kind: Kind, number: float, bits: str) -> None:
    assert bits in literal(kind, number)


def test_values_of_the_reference_do_not_mix_in() -> None:
    with pytest.raises(TypeError, match="two implementations"):
        Body().constant(U32, 1) + constant(U32, 1)


def test_long_loops_are_cut() -> None:
    body = Body()
    value = _lanes(body)
    for number in range(1200):
        value = expression(value * 3 + number)
    _keep(body, value)
    text = Renderer(body).text()
    assert text.count("LOOP {") > 2


def test_conversions_of_masks_count_lanes() -> None:
    body = Body()
    assert "CAST(v_u32, -" in _text_of(body, expression(convert(expression(_lanes(body) == 0), U32)))


def _text_of(body: Body, value: Expression) -> str:
    _keep(body, value)
    return Renderer(body).text()


def test_all_numbers_are_written_in_full() -> None:
    assert literal(U64, -1) == f"((s_u64){np.iinfo(np.uint64).max:#x}ull)"
