"""What atomic instructions store: a function of what is in memory and of the data."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.algebra import F16, F32, F64, I32, I64, U16, U32, U64, Kind, Value, bitcast, convert, where
from rocmatrix.emulator.semantics.floats import quiet
from rocmatrix.emulator.semantics.machine import Combine


@dataclass(frozen=True, kw_only=True)
class Atomic:
    """An atomic operation: kind of the memory and the data, how many data values, what is stored."""

    kind: Kind
    operands: int
    combine: Combine


def _increment(old: Value, limit: Value) -> Value:
    return where(old >= limit, 0, old + 1)


def _decrement(old: Value, limit: Value) -> Value:
    return where((old == 0) | (old > limit), limit, old - 1)


def _smaller(old: Value, data: Value) -> Value:
    return where(data < old, data, old)


def _larger(old: Value, data: Value) -> Value:
    return where(data > old, data, old)


def _both_halves(old: Value, data: Value, add: Combine) -> Value:
    low = add(convert(old, U16), convert(data, U16))
    high = add(convert(old >> 16, U16), convert(data >> 16, U16))
    return convert(low, U32) | convert(high, U32) << 16


def _add_f16(a: Value, b: Value) -> Value:
    return bitcast(bitcast(a, F16) + bitcast(b, F16), U16)


def _add_bf16(a: Value, b: Value) -> Value:
    """Add in float32, which is exact enough to round once more to bfloat16 (24 >= 2 * 8 + 2 bits)."""
    total = bitcast(convert(a, U32) << 16, F32) + bitcast(convert(b, U32) << 16, F32)
    bits = bitcast(total, U32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return convert(where(total != total, bitcast(quiet(total), U32) >> 16, rounded), U16)  # noqa: PLR0124 - NaN


def _table() -> dict[str, Atomic]:
    table = {}
    for suffix, unsigned, signed in (("", U32, I32), ("_x2", U64, I64)):
        words: dict[str, tuple[Kind, Combine]] = {
            "swap": (unsigned, lambda _old, data: data),
            "add": (unsigned, lambda old, data: old + data),
            "sub": (unsigned, lambda old, data: old - data),
            "rsub": (unsigned, lambda old, data: data - old),
            "smin": (signed, _smaller),
            "umin": (unsigned, _smaller),
            "smax": (signed, _larger),
            "umax": (unsigned, _larger),
            "and": (unsigned, lambda old, data: old & data),
            "or": (unsigned, lambda old, data: old | data),
            "xor": (unsigned, lambda old, data: old ^ data),
            "inc": (unsigned, _increment),
            "dec": (unsigned, _decrement),
        }
        for name, (kind, combine) in words.items():
            table[name + suffix] = Atomic(kind=kind, operands=1, combine=combine)
        table[f"cmpswap{suffix}"] = Atomic(
            kind=unsigned, operands=2, combine=lambda old, new, expected: where(old == expected, new, old)
        )
        table[f"mskor{suffix}"] = Atomic(kind=unsigned, operands=2, combine=lambda old, mask, data: old & ~mask | data)
    table["add_f32"] = Atomic(kind=F32, operands=1, combine=lambda old, data: old + data)
    table["add_f64"] = Atomic(kind=F64, operands=1, combine=lambda old, data: old + data)
    for kind in (F32, F64):
        table[f"min_{kind.label}"] = Atomic(kind=kind, operands=1, combine=_smaller)
        table[f"max_{kind.label}"] = Atomic(kind=kind, operands=1, combine=_larger)
    for name, add in (("pk_add_f16", _add_f16), ("pk_add_bf16", _add_bf16)):
        table[name] = Atomic(kind=U32, operands=1, combine=lambda old, data, add=add: _both_halves(old, data, add))
    return table


ATOMICS = _table()
"""By the name behind ``_atomic_``; LDS names are mapped to these in ``lds.py``."""
