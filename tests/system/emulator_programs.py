"""Random C programs that compute the same on a GPU and on a CPU, bit by bit: an oracle for compiled machine code.

A program is one function of a work-item's number, its inputs and its outputs, written in the subset of C++ that HIP and
the host share and whose results the standard and IEEE 754 fix: unsigned arithmetic wraps, shifts are masked, divisors
are never zero, conversions stay in range, contraction of floats is off, NaN is made canonical before its bits are seen,
atomics commute.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

WORKITEMS = 192
"""Three waves; the last one may be cut off by the launch."""
INPUTS = 16
OUTPUTS = 32
BUCKETS = 64

_PRELUDE = """
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef long long i64;
typedef unsigned short u16; typedef short i16; typedef unsigned char u8; typedef signed char i8;
typedef float f32; typedef double f64; typedef _Float16 f16;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
#ifdef __AMDGCN__
#define DEVICE __attribute__((device))
#else
#define DEVICE
#endif
#define NOINLINE __attribute__((noinline))
template <class T, class S> DEVICE static inline T bits(S s) { return __builtin_bit_cast(T, s); }
DEVICE static inline u32 raw(f32 x) { return x != x ? 0x7fc00000u : bits<u32>(x); }
DEVICE static inline u64 raw(f64 x) { return x != x ? 0x7ff8000000000000ull : bits<u64>(x); }
DEVICE static inline u16 raw(f16 x) { return x != x ? 0x7e00 : bits<u16>(x); }
#ifdef __AMDGCN__
DEVICE static inline f32 brain(f32 x) { return (f32)(__bf16)x; }
#else
static inline f32 brain(f32 x) {  // bfloat16 is to nearest even; this machine's compiler would call a library
  const u32 b = bits<u32>(x);
  return x != x ? x : bits<f32>(b + 0x7fff + (b >> 16 & 1) & 0xffff0000u);
}
#endif
"""

_KERNEL = """
#ifdef __AMDGCN__
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 1024))) ATTRIBUTES
void kernel(const u32* in, u32* out, u32* buckets) {
  const u32 tid = __builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x();
  body(tid, in, out, buckets);
}
#else
extern "C" void kernel(const u32* in, u32* out, u32* buckets) {
  for (u32 tid = 0; tid < WORKITEMS; ++tid) body(tid, in, out, buckets);
}
#endif
"""

_KINDS = ("u32", "i32", "u64", "i64", "f32", "f64", "f16")
_VARIABLES = 4


@dataclass
class Writer:
    """Writes one program from a seed."""

    seed: int
    size: int = 60
    _random: random.Random = field(init=False)
    _loops: int = 0
    _helpers: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - reproducible, no secret

    def program(self) -> str:
        """Return the source."""
        helpers = "".join(self._helper(number) for number in range(2))
        self._helpers = 2
        body = self._block(self.size, depth=0)
        attributes = self._random.choice(["", "", "__attribute__((amdgpu_num_vgpr(24)))"])
        kernel = _KERNEL.replace("ATTRIBUTES", attributes).replace("WORKITEMS", str(WORKITEMS)).replace("GROUP", "64")
        head = "DEVICE static void body(u32 tid, const u32* in, u32* out, u32* buckets) {\n"
        return f"{_PRELUDE}{helpers}{head}{self._declarations()}{body}{self._results()}}}\n{kernel}"

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _variable(self, kind: str) -> str:
        return f"{kind}_{self._random.randrange(_VARIABLES)}"

    def _declarations(self) -> str:
        lines = [f"  const u32* mine = in + tid * {INPUTS};"]
        for kind in _KINDS:
            for number in range(_VARIABLES):
                a, b = self._random.randrange(INPUTS), self._random.randrange(INPUTS)
                lines.append(f"  {kind} {kind}_{number} = {self._initial(kind, a, b)};")
        lines.append("  u32 array[16]; for (int i = 0; i < 16; ++i) array[i] = mine[i] + i;")
        lines.append("  u16x2 pair_0 = bits<u16x2>(mine[1]), pair_1 = bits<u16x2>(mine[2]);")
        lines.append("  f32x2 two_0 = {f32_0, f32_1}, two_1 = {f32_2, f32_3};")
        lines.append("  f16x2 half_0 = {f16_0, f16_1}, half_1 = {f16_2, f16_3};")
        return "\n".join(lines) + "\n"

    def _initial(self, kind: str, a: int, b: int) -> str:
        wide = f"((u64)mine[{a}] << 32 | mine[{b}])"
        return {
            "u32": f"mine[{a}]",
            "i32": f"(i32)mine[{a}]",
            "u64": wide,
            "i64": f"(i64){wide}",
            "f32": self._pick(f"bits<f32>(mine[{a}])", f"(f32)(i32)mine[{a}] * 0x1p-20f", f"(f32)mine[{a}]"),
            "f64": self._pick(f"bits<f64>{wide}", f"(f64)(i64){wide} * 0x1p-40", f"(f64)mine[{a}]"),
            "f16": self._pick(f"bits<f16>((u16)mine[{a}])", f"(f16)((i32)mine[{a}] >> 20)"),
        }[kind]

    def _results(self) -> str:
        lines, place = [], 0
        for kind in _KINDS:
            values = [f"{kind}_{number}" for number in range(_VARIABLES)]
            raw = [f"raw({value})" if kind[0] == "f" else value for value in values]
            if "64" in kind:
                steps = " ".join(f"h = h * 0x9e3779b97f4a7c15ull + (u64){item};" for item in raw)
                lines.append(f"  {{ u64 h = 0; {steps} out[tid * {OUTPUTS} + {place}] = (u32)h;")
                lines.append(f"    out[tid * {OUTPUTS} + {place + 1}] = (u32)(h >> 32); }}")
                place += 2
            else:
                for item in raw:
                    lines.append(f"  out[tid * {OUTPUTS} + {place}] = (u32){item};")
                    place += 1
        lines.append("  { u32 h = 0; for (int i = 0; i < 16; ++i) h = h * 31 + array[i];")
        lines.append(f"    out[tid * {OUTPUTS} + {place}] = h; }}")
        lines.append(f"  out[tid * {OUTPUTS} + {place + 1}] = bits<u32>(pair_0) ^ raw(two_0.x) ^ raw(half_0.y);")
        lines.append(f"  out[tid * {OUTPUTS} + {place + 2}] = bits<u32>(pair_1) ^ raw(two_1.y) ^ raw(half_1.x);")
        return "\n".join(lines) + "\n"

    def _helper(self, number: int) -> str:
        kinds = [self._random.choice(("u32", "i32", "u64", "f32")) for _ in range(3)]
        parameters = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, "abc", strict=True))
        steps = "".join(
            f"  if (x & {1 << self._random.randrange(8)}) x = x * {self._random.randrange(1, 99) | 1}u + "
            f"(u32)({self._pick('a', 'b', 'c')} > 1 ? {self._random.randrange(1000)} : x >> 3);\n"
            for _ in range(4)
        )
        parts = [f"raw({name})" if kind == "f32" else name for kind, name in zip(kinds, "abc", strict=True)]
        values = " + ".join(f"(u32){part}" for part in parts)
        self._signatures = (*getattr(self, "_signatures", ()), tuple(kinds))
        return f"DEVICE NOINLINE u32 helper_{number}({parameters}) {{\n  u32 x = {values};\n{steps}  return x;\n}}\n"

    def _block(self, size: int, depth: int) -> str:
        return "".join(self._statement(depth) for _ in range(size))

    def _statement(self, depth: int) -> str:
        indent = "  " * (depth + 1)
        choice = self._random.random()
        if depth < 3 and choice < 0.07:
            other = f" else {{\n{self._block(3, depth + 1)}{indent}}}" if self._random.random() < 0.5 else ""
            return f"{indent}if ({self._condition()}) {{\n{self._block(4, depth + 1)}{indent}}}{other}\n"
        if depth < 2 and choice < 0.11:
            return self._loop(indent, depth)
        if choice < 0.15:
            return f"{indent}{self._special()}\n"
        kind = self._random.choice(_KINDS)
        return f"{indent}{self._variable(kind)} = {self._expression(kind)};\n"

    def _loop(self, indent: str, depth: int) -> str:
        self._loops += 1
        name = f"step_{self._loops}"
        trips = self._pick(f"({self._variable('u32')} & 7)", "5", f"({self._variable('u64')} % 6)")
        leave = f"{indent}  if ({self._condition()}) {self._pick('break', 'continue')};\n"
        body = self._block(2, depth + 1) + leave + self._block(2, depth + 1)
        return f"{indent}for (u32 {name} = 0, n = (u32){trips}; {name} < n; ++{name}) {{\n{body}{indent}}}\n"

    def _condition(self) -> str:
        kind = self._random.choice(_KINDS)
        return f"{self._variable(kind)} {self._pick('<', '<=', '>', '>=', '==', '!=')} {self._variable(kind)}"

    def _special(self) -> str:
        u, v = self._variable("u32"), self._variable("u32")
        choices = [
            f"array[{u} & 15] = {v};",
            f"{u} = array[{v} & 15];",
            f"{u} += array[(array[{v} & 15] >> 3) & 15];",
            f"pair_0 = pair_0 {self._pick('+', '-', '*')} pair_1;",
            f"pair_1 = pair_1 {self._pick('<<', '>>')} (pair_0 & (u16)15);",
            f"two_0 = two_0 {self._pick('+', '-', '*')} two_1;",
            "two_1 = f32x2{__builtin_fmaf(two_0.x, two_1.x, two_0.y), __builtin_fmaf(two_0.y, two_1.y, two_0.x)};",
            f"half_0 = half_0 {self._pick('+', '-', '*')} half_1;",
            "half_1 = half_1 * half_0;",
            f"{self._variable('f32')} = {self._brain_float()};",
            f"switch ({u} & 3) {{ case 0: {v} += 3; break; case 1: {v} ^= {u}; break; default: {v} = ~{v}; }}",
            self._atomic(u, v),
        ]
        if self._helpers:
            number = self._random.randrange(self._helpers)
            arguments = ", ".join(self._variable(kind) for kind in self._signatures[number])
            choices.append(f"{u} = helper_{number}({arguments});")
        return self._random.choice(choices)

    def _brain_float(self) -> str:
        """bfloat16 goes through float32: the GPU has no instruction for it, its compiler rounds with integers."""
        a, b = (f"brain({self._variable('f32')})" for _ in range(2))
        return f"brain({a} {self._pick('+', '-', '*')} {b})"

    def _atomic(self, index: str, value: str) -> str:
        """Each operation has buckets of its own, so that the order of work-items does not matter."""
        order = "__ATOMIC_RELAXED"
        place = f"(({index} & 3)"
        return self._pick(
            f"__atomic_fetch_add(buckets + {place} + 0), {value}, {order});",
            f"__atomic_fetch_xor(buckets + {place} + 4), {value}, {order});",
            f"__atomic_fetch_or(buckets + {place} + 8), {value}, {order});",
            f"__atomic_fetch_and(buckets + {place} + 12), {value}, {order});",
            f"__atomic_fetch_max(buckets + {place} + 16), {value}, {order});",
            f"__atomic_fetch_min(buckets + {place} + 20), {value}, {order});",
            f"__atomic_fetch_add((u64*)buckets + {place} + 16), (u64){value} << 20, {order});",
            f"__atomic_fetch_max((i32*)buckets + {place} + 40), (i32){value}, {order});",
            f"__atomic_fetch_add((f32*)buckets + {place} + 44), (f32)({value} & 7), {order});",
            f"__atomic_fetch_sub(buckets + {place} + 48), {value}, {order});",
        )

    def _expression(self, kind: str) -> str:
        writers: dict[str, Callable[[str], str]] = {"u": self._unsigned, "i": self._signed, "f": self._float}
        return writers[kind[0]](kind)

    def _unsigned(self, kind: str) -> str:
        a, b, c = (self._variable(kind) for _ in range(3))
        mask = int(kind[1:]) - 1
        suffix = "ll" if kind == "u64" else ""
        choices = [
            f"{a} {self._pick('+', '-', '*', '&', '|', '^')} {b}",
            f"{a} {self._pick('<<', '>>')} ({b} & {mask})",
            f"{a} {self._pick('/', '%')} ({b} | 1)",
            f"~{a} + {b} * {self._random.randrange(1 << 16)}u",
            f"{a} << ({b} & {mask}) | {a} >> (-{b} & {mask})",
            f"(({kind})__builtin_popcount{suffix}({a})) + {b}",
            f"({kind})__builtin_clz{suffix}({a} | 1) ^ {b}",
            f"({kind})__builtin_ctz{suffix}({a} | 1) + {b}",
            f"__builtin_bitreverse{kind[1:]}({a})",
            f"__builtin_bswap{kind[1:]}({a}) + {b}",
            f"{a} < {b} ? {c} : {a} + 1",
            f"({a} >> 5 & {b}) | {c}",
            f"({kind})(u8){a} + ({kind})(u16){b}",
            f"({kind}){self._variable(self._pick('u32', 'u64', 'i32', 'i64'))}",
            f"({kind})((u64)(u32){a} * (u32){b} >> 32)",
            f"({kind})raw({self._variable(self._pick('f32', 'f64', 'f16'))})",
            f"({a} >> ({b} & 15)) & ((({kind})1 << ({c} & 15)) - 1)",
        ]
        return self._random.choice(choices)

    def _signed(self, kind: str) -> str:
        unsigned = f"u{kind[1:]}"
        a, b, c = (self._variable(kind) for _ in range(3))
        mask = int(kind[1:]) - 1
        limit, number = ("0x1p31f", "f32") if kind == "i32" else ("0x1p62", "f64")
        f = self._variable(number)
        choices = [
            f"({kind})(({unsigned}){a} {self._pick('+', '-', '*')} ({unsigned}){b})",
            f"{a} >> ({b} & {mask})",
            f"{a} {self._pick('&', '|', '^')} {b}",
            f"{b} == 0 || {b} == -1 ? {a} : {a} {self._pick('/', '%')} {b}",
            f"{a} < {b} ? {a} : {c}",
            f"{a} > {b} ? {a} : {b}",
            f"({kind})(i8){a} - ({kind})(i16){b} / 3",
            f"({kind}){self._variable(self._pick('u32', 'u64', 'i32', 'i64'))}",
            f"{f} > -{limit} && {f} < {limit} ? ({kind}){f} : ({kind}){self._random.randrange(100)}",
            f"{a} >> {self._random.randrange(1, 20)}",
        ]
        return self._random.choice(choices)

    def _float(self, kind: str) -> str:
        a, b, c = (self._variable(kind) for _ in range(3))
        name = {"f32": "f", "f64": "", "f16": "f16"}[kind]
        choices = [
            f"{a} {self._pick('+', '-', '*')} {b}",
            f"{a} {self._pick('+', '-', '*')} {b}",
            f"{a} / {b}",
            f"{a} < {b} ? {c} : -{a}",
            f"({kind}){self._variable(self._pick('f32', 'f16'))}",
        ]
        if kind != "f16":
            choices += [
                f"__builtin_fma{name}({a}, {b}, {c})",
                f"__builtin_sqrt{name}(__builtin_fabs{name}({a}))",
                f"__builtin_{self._pick('floor', 'ceil', 'trunc', 'rint')}{name}({a})",
                f"__builtin_ldexp{name}({a}, {self._variable('i32')} % 70)",
                f"__builtin_copysign{name}({a} * ({kind})0.5, {b} == {b} ? {b} : {c} == {c} ? {c} : 1)",
                f"({kind}){self._variable(self._pick('u32', 'u64', 'i32', 'i64'))}",
                f"({kind}){self._variable(self._pick('f32', 'f64'))}",
                f"{a} * 0x1p{self._random.randrange(-40, 40)}{'f' if kind == 'f32' else ''} + {b}",
            ]
        return self._random.choice(choices)
