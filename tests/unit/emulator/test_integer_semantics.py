"""Integer instructions against Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rocmatrix.emulator.algebra import BOOL
from rocmatrix.emulator.interpreter import TABLES
from rocmatrix.emulator.lanes import Lanes
from rocmatrix.emulator.semantics.arithmetic import PACKED, SCALAR, VECTOR, Table
from tests.unit.emulator.machine import values

assert TABLES
_COUNT = 512
Oracle = Callable[..., "int | bool | tuple[int | bool, ...]"]


def _bits(number: int) -> list[int]:
    return [number >> place & 1 for place in range(64)]


def _leading(number: int, width: int) -> int:
    return width - number.bit_length() if number else -1


def _trailing(number: int) -> int:
    return (number & -number).bit_length() - 1


def _sign_run(number: int, width: int) -> int:
    return _leading(number ^ (-1 if number < 0 else 0), width)


def _s24(number: int) -> int:
    return (number & 0xFFFFFF) - (1 << 24 if number >> 23 & 1 else 0)


def _u24(number: int) -> int:
    return number & 0xFFFFFF


def _octets(number: int) -> list[int]:
    return [number >> 8 * place & 0xFF for place in range(4)]


def _perm(a: int, b: int, selectors: int) -> int:
    both = _octets(b) + _octets(a)
    table = both + [255 * (both[place] >> 7) for place in (1, 3, 5, 7)] + [0]
    return sum((table[pick] if pick < 13 else 255) << 8 * place for place, pick in enumerate(_octets(selectors)))


def _reverse(number: int, width: int) -> int:
    return int(format(number, f"0{width}b")[::-1], 2)


def _field(number: int, offset: int, width: int, *, signed: bool) -> int:
    field = number >> offset & ((1 << width) - 1)
    return field - (1 << width) if signed and width and field >> (width - 1) else field


def _scalar_field(bits: int, *, signed: bool) -> Oracle:
    def extract(number: int, field: int) -> tuple[int, bool]:
        width, offset = min(field >> 16 & 0x7F, bits), field & (bits - 1)
        result = _field(number, offset, width, signed=signed)
        return result, result != 0

    return extract


def _overflow(total: int) -> bool:
    return not -(1 << 31) <= total < 1 << 31


SCALAR_ORACLES: dict[str, Oracle] = {
    "s_add_u32": lambda a, b: (a + b, a + b >= 1 << 32),
    "s_sub_u32": lambda a, b: (a - b, b > a),
    "s_add_i32": lambda a, b: (a + b, _overflow(a + b)),
    "s_sub_i32": lambda a, b: (a - b, _overflow(a - b)),
    "s_addc_u32": lambda a, b, c: (a + b + c, a + b + c >= 1 << 32),
    "s_subb_u32": lambda a, b, c: (a - b - c, b + c > a),
    "s_mul_i32": lambda a, b: a * b,
    "s_mul_hi_u32": lambda a, b: a * b >> 32,
    "s_mul_hi_i32": lambda a, b: a * b >> 32,
    "s_lshl_b32": lambda a, b: ((a << (b & 31)) & 0xFFFFFFFF, (a << (b & 31)) & 0xFFFFFFFF != 0),
    "s_lshr_b64": lambda a, b: (a >> (b & 63), a >> (b & 63) != 0),
    "s_ashr_i64": lambda a, b: (a >> (b & 63), a >> (b & 63) != 0),
    "s_bfe_u32": _scalar_field(32, signed=False),
    "s_bfe_i32": _scalar_field(32, signed=True),
    "s_bfe_u64": _scalar_field(64, signed=False),
    "s_bfe_i64": _scalar_field(64, signed=True),
    "s_bfm_b64": lambda a, b: ((1 << (a & 63)) - 1) << (b & 63),
    "s_ff1_i32_b64": lambda a: _trailing(a) if a else -1,
    "s_ff0_i32_b32": lambda a: _trailing(~a & 0xFFFFFFFF) if a != 0xFFFFFFFF else -1,
    "s_flbit_i32_b32": lambda a: _leading(a, 32),
    "s_flbit_i32_i64": lambda a: _sign_run(a - (1 << 64) if a >> 63 else a, 64),
    "s_bcnt1_i32_b64": lambda a: (a.bit_count(), a != 0),
    "s_bcnt0_i32_b32": lambda a: (32 - a.bit_count(), a != 0xFFFFFFFF),
    "s_brev_b64": lambda a: _reverse(a, 64),
    "s_bitset1_b64": lambda index, old: old | 1 << (index & 63),
    "s_bitset0_b32": lambda index, old: old & ~(1 << (index & 31)),
    "s_bitcmp1_b32": lambda a, b: bool(a >> (b & 31) & 1),
    "s_bitreplicate_b64_b32": lambda a: sum(3 << 2 * place for place in range(32) if a >> place & 1),
    "s_absdiff_i32": lambda a, b: (abs(_wrapped(a - b)), a != b),
    "s_lshl3_add_u32": lambda a, b: ((a << 3) + b, (a << 3) + b >= 1 << 32),
    "s_xnor_b64": lambda a, b: (~(a ^ b), ~(a ^ b) & (1 << 64) - 1 != 0),
    "s_cmp_gt_i32": lambda a, b: a > b,
    "s_pack_lh_b32_b16": lambda a, b: a & 0xFFFF | b & 0xFFFF0000,
}

VECTOR_ORACLES: dict[str, Oracle] = {
    "v_add_co_u32": lambda a, b: (a + b, a + b >= 1 << 32),
    "v_subrev_co_u32": lambda a, b: (b - a, a > b),
    "v_addc_co_u32": lambda a, b, c: (a + b + c, a + b + c >= 1 << 32),
    "v_subb_co_u32": lambda a, b, c: (a - b - c, b + c > a),
    "v_mad_u64_u32": lambda a, b, c: (a * b + c, a * b + c >= 1 << 64),
    "v_mad_i64_i32": lambda a, b, c: (a * b + c, (a * b + c) >> 64 & 1 == 1),
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_i32": lambda a, b: a * b >> 32,
    "v_mul_i32_i24": lambda a, b: _s24(a) * _s24(b),
    "v_mul_hi_i32_i24": lambda a, b: _s24(a) * _s24(b) >> 32,
    "v_mul_hi_u32_u24": lambda a, b: _u24(a) * _u24(b) >> 32,
    "v_mad_i32_i24": lambda a, b, c: _s24(a) * _s24(b) + c,
    "v_mad_u32_u24": lambda a, b, c: _u24(a) * _u24(b) + c,
    "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> (c & 31),
    "v_alignbyte_b32": lambda a, b, c: (a << 32 | b) >> 8 * (c & 3),
    "v_bfe_u32": lambda a, b, c: _field(a, b & 31, c & 31, signed=False),
    "v_bfe_i32": lambda a, b, c: _field(a, b & 31, c & 31, signed=True),
    "v_bfi_b32": lambda a, b, c: a & b | ~a & c,
    "v_perm_b32": _perm,
    "v_lshlrev_b64": lambda a, b: b << (a & 63),
    "v_ashrrev_i32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i16": lambda a, b: b >> (a & 15),
    "v_lshl_add_u64": lambda a, b, c: (a << (b & 7)) + c,
    "v_ffbh_i32": lambda a: _sign_run(a - (1 << 32) if a >> 31 else a, 32),
    "v_ffbl_b32": lambda a: _trailing(a) if a else -1,
    "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b,
    "v_sad_u8": lambda a, b, c: c + sum(abs(x - y) for x, y in zip(_octets(a), _octets(b), strict=True)),
    "v_msad_u8": lambda a, b, c: c + sum(abs(x - y) for x, y in zip(_octets(a), _octets(b), strict=True) if y),
    "v_sad_u16": lambda a, b, c: c + abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16)),
    "v_med3_i32": lambda a, b, c: sorted((a, b, c))[1],
    "v_med3_u16": lambda a, b, c: sorted((a, b, c))[1],
    "v_cvt_pk_i16_i32": lambda a, b: _limited(a) & 0xFFFF | (_limited(b) & 0xFFFF) << 16,
    "v_dot4c_i32_i8": lambda a, b, c: c + sum(_i8(x) * _i8(y) for x, y in zip(_octets(a), _octets(b), strict=True)),
    "v_mad_i32_i16": lambda a, b, c: a * b + c,
    "v_cmp_lt_i64": lambda a, b: a < b,
    "v_cmpx_ne_u16": lambda a, b: a != b,
    "v_cmp_t_u32": lambda _a, _b: True,
    "v_cmp_f_i16": lambda _a, _b: False,
    "v_lerp_u8": lambda a, b, c: sum(
        (_octets(a)[place] + _octets(b)[place] + (c >> 8 * place & 1) >> 1) << 8 * place for place in range(4)
    ),
}

PACKED_ORACLES: dict[str, Oracle] = {
    "v_pk_mad_i16": lambda a, b, c: a * b + c,
    "v_pk_ashrrev_i16": lambda a, b: b >> (a & 15),
    "v_pk_max_i16": max,
    "v_pk_sub_u16": lambda a, b: a - b,
}


def _wrapped(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _limited(number: int) -> int:
    return max(-0x8000, min(0x7FFF, number))


def _i8(number: int) -> int:
    return number - 256 if number > 127 else number


_ALL = [
    (table, name, oracle)
    for table, oracles in ((SCALAR, SCALAR_ORACLES), (VECTOR, VECTOR_ORACLES), (PACKED, PACKED_ORACLES))
    for name, oracle in oracles.items()
]


@pytest.mark.parametrize(("table", "name", "oracle"), _ALL, ids=[name for _, name, _ in _ALL])
def test_results_are_those_of_unbounded_integers(table: Table, name: str, oracle: Oracle) -> None:
    operation = table[name]
    random = np.random.default_rng(11)
    operands = [values(kind, random, _COUNT) for kind in operation.operands]
    with np.errstate(all="ignore"):
        results = operation.function(*operands)
    columns = [operand.array.tolist() for operand in operands]
    for row, numbers in enumerate(zip(*columns, strict=True)):
        want = oracle(*map(int, numbers))
        for kind, result, expected in zip(
            operation.results,
            results if isinstance(results, tuple) else (results,),
            want if isinstance(want, tuple) else (want,),
            strict=True,
        ):
            assert isinstance(result, Lanes)
            got = np.broadcast_to(result.array, (_COUNT,))[row]
            if kind is BOOL:
                assert bool(got) == expected, numbers
            else:
                assert int(got) % (1 << kind.bits) == int(expected) % (1 << kind.bits), numbers
