"""The primitives of the algebra as C text, over the names of operands; ``runtime/operations.h`` has the functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rocmatrix.emulator.algebra import BOOL, F16, F32, F64, I32, I64, Kind, Op
from rocmatrix.emulator.lanes import DTYPES

_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.AND: "&", Op.OR: "|", Op.XOR: "^"}
_COMPARE = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}
_FLOAT = {
    Op.ADD: "add",
    Op.SUB: "sub",
    Op.MUL: "mul",
    Op.DIV: "div",
    Op.FMA: "fma",
    Op.SQRT: "sqrt",
    Op.TRUNC: "trunc",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    Op.RNDNE: "rndne",
}
_SIGNS = {F16: ("u16", 0x8000), F32: ("u32", 1 << 31), F64: ("u64", 1 << 63)}
_TWO_STEPS = {F16: F32, F32: F64}
"""Floats that reach 64-bit integers through a wider kind."""


def c_type(kind: Kind, *, lanes: bool) -> str:
    """Return the C type of a scalar or of a group of lanes."""
    return ("v_" if lanes else "s_") + kind.label


def literal(kind: Kind, number: float) -> str:
    """Return a scalar constant; integers are taken modulo the width of the kind."""
    if kind is BOOL:
        return f"(s_bool){int(bool(number))}"
    if kind.is_float:
        bits = np.array([number], dtype=DTYPES[kind]).view(f"uint{kind.bits}")[0]
        return f"BITS(s_{kind.label}, (s_u{kind.bits}){int(bits):#x}ull)"
    return f"((s_{kind.label}){int(number) & ((1 << kind.bits) - 1):#x}ull)"


def splat(kind: Kind, name: str) -> str:
    """Return a group of lanes that all hold a scalar."""
    return f"(v_bool)(-(s_i32){name})" if kind is BOOL else f"(v_{kind.label})({name})"


def text_of(op: Op, names: Sequence[str], kinds: Sequence[Kind], result: Kind, *, lanes: bool) -> str:
    """Return a primitive as an expression of C.

    Args:
        op: the primitive.
        names: its operands; all groups of lanes, or all scalars.
        kinds: their kinds.
        result: kind of the result.
        lanes: whether they are groups of lanes.
    """
    kind = kinds[0]
    prefix = "v_" if lanes else "s_"
    if op in _COMPARE:
        return _comparison(_COMPARE[op], names, kind, lanes=lanes)
    if kind.is_float and op in _FLOAT:
        return f"{_FLOAT[op]}_{prefix}{kind.label}({', '.join(names)})"
    if op in _INFIX:
        return f"({names[0]} {_INFIX[op]} {names[1]})"
    return _OTHERS[op](names, kinds, result, lanes)


def _comparison(sign: str, names: Sequence[str], kind: Kind, *, lanes: bool) -> str:
    if kind is F16:
        names = [f"f16_to_f32_{'v' if lanes else 's'}({name})" for name in names]
        kind = F32
    text = f"({names[0]} {sign} {names[1]})"
    return text if not lanes or kind.bits == 32 or kind is BOOL else f"CAST(v_bool, {text})"  # noqa: PLR2004 - masks


def _shift(sign: str) -> Callable[[Sequence[str], Sequence[Kind], Kind, bool], str]:
    def text(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
        count = f"({names[1]} & {kinds[0].bits - 1})"
        if lanes:
            count = f"({names[1]} & (v_{kinds[0].label})({kinds[0].bits - 1}))"
        return f"({names[0]} {sign} {count})"

    return text


def _negated(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    return _sign(names[0], kinds[0], "^", lanes=lanes) if kinds[0].is_float else f"(-{names[0]})"


def _magnitude(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    return _sign(names[0], kinds[0], "& ~", lanes=lanes)


def _sign(name: str, kind: Kind, operator: str, *, lanes: bool) -> str:
    unsigned, bit = _SIGNS[kind]
    prefix = "v_" if lanes else "s_"
    number = f"{prefix}{unsigned}"
    return f"BITS({prefix}{kind.label}, ({number})(BITS({number}, {name}) {operator}({number})({bit:#x})))"


def _inverted(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    return f"(!{names[0]})" if kinds[0] is BOOL and not lanes else f"(~{names[0]})"


def _choice(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    bits = kinds[1].bits
    condition = names[0]
    if lanes and kinds[1] is not BOOL and bits != 32:  # noqa: PLR2004 - as wide as masks
        condition = f"CAST(v_mask{bits}, {condition})"
    return f"({condition} ? {names[1]} : {names[2]})"


def _reinterpreted(names: Sequence[str], _kinds: Sequence[Kind], result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    return f"BITS({c_type(result, lanes=lanes)}, {names[0]})"


def _counted(name: str) -> Callable[[Sequence[str], Sequence[Kind], Kind, bool], str]:
    def text(names: Sequence[str], kinds: Sequence[Kind], _result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
        return f"{name}_{c_type(kinds[0], lanes=lanes)}({names[0]})"

    return text


def _converted(names: Sequence[str], kinds: Sequence[Kind], result: Kind, lanes: bool) -> str:  # noqa: FBT001 - a table
    kind, name = kinds[0], names[0]
    form = "v" if lanes else "s"
    if kind.is_float and result.is_float:
        return f"{kind.label}_to_{result.label}_{form}({name})"
    if kind.is_float:
        return _to_integer(name, kind, result, form)
    if result is F16:
        return f"f32_to_f16_{form}({_cast(name, kind, F32, lanes=lanes)})"
    return _cast(name, kind, result, lanes=lanes)


def _cast(name: str, kind: Kind, result: Kind, *, lanes: bool) -> str:
    if result is BOOL:
        raise TypeError("compare with zero to get lane masks")
    if not lanes:
        return f"((s_{result.label}){name})"
    return f"CAST(v_{result.label}, {f'-{name}' if kind is BOOL else name})"


def _to_integer(name: str, kind: Kind, result: Kind, form: str) -> str:
    """Convert through the kinds that ``operations.h`` has: float32 to 32 bits and float64 to 64 bits."""
    wanted = F64 if result.bits == 64 or kind is F64 else F32  # noqa: PLR2004 - bits
    while kind is not wanted:
        name, kind = f"{kind.label}_to_{_TWO_STEPS[kind].label}_{form}({name})", _TWO_STEPS[kind]
    if result.bits == kind.bits:
        return f"{kind.label}_to_{result.label}_{form}({name})"
    middle = I32 if kind is F32 else I64
    whole = f"{kind.label}_to_{middle.label}_{form}({name})"
    least = -(1 << (result.bits - 1)) if result.is_signed else 0
    largest = (1 << (result.bits - result.is_signed)) - 1
    limited = f"CLAMP({form}_, {middle.label}, {whole}, {least}, {largest}ll)"
    return _cast(limited, middle, result, lanes=form == "v")


_OTHERS: dict[Op, Callable[[Sequence[str], Sequence[Kind], Kind, bool], str]] = {
    Op.SHL: _shift("<<"),
    Op.SHR: _shift(">>"),
    Op.NEG: _negated,
    Op.ABS: _magnitude,
    Op.NOT: _inverted,
    Op.WHERE: _choice,
    Op.BITCAST: _reinterpreted,
    Op.CONVERT: _converted,
    Op.POPCOUNT: _counted("popcount"),
    Op.CLZ: _counted("clz"),
}
