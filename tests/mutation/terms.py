"""The algebra of semantics over terms of Z3: one lane stands for all, and nothing about its registers is known.

Integers are exact. Float arithmetic is an unknown function of its operands' bits that is never a signalling NaN (as
``Op`` says of NaN results), commutative where addition and products are; comparisons, signs and NaN tests are exact.
What is proved of such terms holds for any rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import z3

from rocmatrix.emulator.algebra import BOOL, Kind, Op, Value
from tests.mutation.simplified import simplified

Word: TypeAlias = "z3.BitVecRef | z3.BoolRef"
_EXPONENT = {16: 5, 32: 8, 64: 11}
_COMMUTE = (Op.ADD, Op.MUL, Op.FMA)
SELECTS = ("v_max_f32", "v_min_f32", "v_max3_f32", "v_min3_f32")
"""Instructions that give one of their operands, or NaN: with IEEE mode a quiet one for a signalling one."""


class Facts:
    """What holds of the terms that were made so far.

    Attributes:
        all: the truths.
        lds_is_quiet: whether no word in LDS is a signalling NaN of float32.
    """

    def __init__(self, *, lds_is_quiet: bool = False) -> None:
        """Know nothing else."""
        self.lds_is_quiet = lds_is_quiet
        self.all: list[z3.BoolRef] = []
        self._uniform: dict[int, tuple[z3.BitVecRef, int]] = {}
        self._functions: dict[str, z3.FuncDeclRef] = {}

    def are_uniform(self, word: z3.BitVecRef, bits: int) -> None:
        """Note that some bits of a lane's word are the same in all lanes of a wave."""
        self._uniform[word.get_id()] = word, bits

    def uniform_bits(self, word: z3.BitVecRef) -> int:
        """Return the bits of a lane's word that are known to be the same in all lanes of a wave."""
        return self._uniform.get(word.get_id(), (word, 0))[1]

    def unknown(self, name: str, operands: tuple[z3.BitVecRef, ...], bits: int) -> z3.BitVecRef:
        """Return what an unknown function gives."""
        key = f"{name}_{'_'.join(str(operand.size()) for operand in operands)}_{bits}"
        if key not in self._functions:
            sorts = [z3.BitVecSort(operand.size()) for operand in operands]
            self._functions[key] = z3.Function(key, *sorts, z3.BitVecSort(bits))
        return self._functions[key](*operands)


class Term(Value):
    """A value whose bits are a term."""

    __slots__ = ("facts", "term")

    def __init__(self, kind: Kind, term: Word, facts: Facts) -> None:
        """Hold a term: a truth for BOOL, else as many bits as the kind has."""
        self.kind = kind
        self.term = term
        self.facts = facts

    @property
    def bits(self) -> z3.BitVecRef:
        """The term of a kind other than BOOL."""
        return self.term

    def constant(self, kind: Kind, number: float) -> Term:
        """Return a constant."""
        return constant(kind, number, self.facts)

    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Term:
        """Return the primitive as a term."""
        operands = (self, *(other for other in others if isinstance(other, Term)))
        assert len(operands) == 1 + len(others)
        return Term(kind, simplified(_made(op, operands, kind)), self.facts)


def constant(kind: Kind, number: float, facts: Facts) -> Term:
    """Return a number as a term; a float by its bits."""
    if kind is BOOL:
        return Term(kind, z3.BoolVal(bool(number)), facts)
    if kind.is_float:
        sort = {16: z3.Float16(), 32: z3.Float32(), 64: z3.Float64()}[kind.bits]
        return Term(kind, simplified(z3.fpToIEEEBV(z3.FPVal(number, sort))), facts)
    return Term(kind, z3.BitVecVal(int(number), kind.bits), facts)


def _made(op: Op, operands: tuple[Term, ...], kind: Kind) -> Word:
    first = operands[0]
    if op is Op.WHERE:
        return z3.If(first.term, operands[1].term, operands[2].term)
    if op is Op.BITCAST:
        return first.term
    if op is Op.CONVERT:
        return _converted(first, kind)
    if first.kind.is_float:
        return _float(op, operands, kind)
    words = tuple(operand.term for operand in operands)
    if op in (Op.POPCOUNT, Op.CLZ):
        return first.facts.unknown(op.name, words, kind.bits)
    return _integer(op, first.kind, words)


def _integer(op: Op, kind: Kind, words: tuple[Word, ...]) -> Word:
    if kind is BOOL:
        return _TRUTH[op](*words)
    table = _SIGNED if kind.is_signed and op in _SIGNED else _INTEGER
    if op in (Op.SHL, Op.SHR):
        words = (words[0], words[1] & (kind.bits - 1))
    return table[op](*words)


def _converted(value: Term, kind: Kind) -> Word:
    if value.kind is BOOL:
        return z3.If(value.term, z3.BitVecVal(1, kind.bits), z3.BitVecVal(0, kind.bits))
    if value.kind.is_float or kind.is_float:
        return _quiet(value.facts.unknown(f"{value.kind.label}_{kind.label}", (value.term,), kind.bits), kind, value)
    if kind.bits <= value.kind.bits:
        return z3.Extract(kind.bits - 1, 0, value.term)
    extend = z3.SignExt if value.kind.is_signed else z3.ZeroExt
    return extend(kind.bits - value.kind.bits, value.term)


def _float(op: Op, operands: tuple[Term, ...], kind: Kind) -> Word:
    first = operands[0]
    bits, words = first.kind.bits, tuple(operand.term for operand in operands)
    sign = z3.BitVecVal(1 << (bits - 1), bits)
    if op is Op.NEG:
        return words[0] ^ sign
    if op is Op.ABS:
        return words[0] & ~sign
    if op in _ORDER:
        return _compared(op, words[0], words[1], bits)
    if op in _COMMUTE:
        pair = sorted(words[:2], key=lambda word: int(word.get_id()))
        words = (*pair, *words[2:])
    return _quiet(first.facts.unknown(f"{op.name}_{first.kind.label}", words, kind.bits), kind, first)


def _quiet(result: z3.BitVecRef, kind: Kind, value: Term) -> z3.BitVecRef:
    """Note that a result is no signalling NaN; it is arithmetic's."""
    if kind.is_float:
        value.facts.all.append(is_quiet(result, kind.bits))
    return result


def is_quiet(word: z3.BitVecRef, bits: int) -> z3.BoolRef:
    """Say that the bits of a float are no signalling NaN."""
    fraction = bits - 1 - _EXPONENT[bits]
    quiet = z3.Extract(fraction - 1, fraction - 1, word) == 1
    return z3.Or(z3.Not(is_nan(word, bits)), quiet)


def is_nan(word: z3.BitVecRef, bits: int) -> z3.BoolRef:
    """Say that the bits of a float are a NaN."""
    fraction = bits - 1 - _EXPONENT[bits]
    infinity = ((1 << _EXPONENT[bits]) - 1) << fraction
    return z3.UGT(word & ((1 << (bits - 1)) - 1), infinity)


def _compared(op: Op, a: z3.BitVecRef, b: z3.BitVecRef, bits: int) -> z3.BoolRef:
    ordered = z3.And(z3.Not(is_nan(a, bits)), z3.Not(is_nan(b, bits)))
    one, other = _rank(a, bits), _rank(b, bits)
    if op is Op.NE:
        return z3.Or(z3.Not(ordered), one != other)
    return z3.And(ordered, _ORDER[op](one, other))


def _rank(word: z3.BitVecRef, bits: int) -> z3.BitVecRef:
    """Return a signed number in the order of the floats; both zeros have the same."""
    magnitude = word & ((1 << (bits - 1)) - 1)
    return z3.If(z3.Extract(bits - 1, bits - 1, word) == 1, -magnitude, magnitude)


_ORDER: dict[Op, Callable[..., z3.BoolRef]] = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}
"""Comparisons, signed where the operands have a sign."""

_TRUTH: dict[Op, Callable[..., z3.BoolRef]] = {
    Op.AND: z3.And,
    Op.OR: z3.Or,
    Op.XOR: z3.Xor,
    Op.NOT: z3.Not,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
}

_INTEGER: dict[Op, Callable[..., Word]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.XOR: lambda a, b: a ^ b,
    Op.NOT: lambda a: ~a,
    Op.NEG: lambda a: -a,
    Op.SHL: lambda a, b: a << b,
    Op.SHR: z3.LShR,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: z3.ULT,
    Op.LE: z3.ULE,
    Op.GT: z3.UGT,
    Op.GE: z3.UGE,
}

_SIGNED: dict[Op, Callable[..., Word]] = {
    Op.SHR: lambda a, b: a >> b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}
