"""Random float32 programs without denormals: what a GPU flushes in its MODE and x86-64 in its MXCSR is the same.

Straight lines of sums, products, fused sums, choices, signs and conversions from integers; inputs are full of denormals
and of numbers whose products are. Both flush operands and results; moving a number, its sign or a choice keeps bits.
"""

from __future__ import annotations

import random

VARIABLES = 12
"""Inputs and outputs of one work-item, 32 bits each."""

_PROGRAM = """
typedef unsigned int u32; typedef float f32; typedef int i32;
#ifdef __AMDGCN__
#define DEVICE __attribute__((device))
#else
#define DEVICE
#endif
template <class T, class S> DEVICE static inline T bits(S s) { return __builtin_bit_cast(T, s); }
DEVICE static inline u32 raw(f32 x) { return x != x ? 0x7fc00000u : bits<u32>(x); }
DEVICE static void body(const u32* in, u32* out) {
  f32 x[VARIABLES];
  for (int i = 0; i < VARIABLES; ++i) x[i] = bits<f32>(in[i]);
STATEMENTS
  for (int i = 0; i < VARIABLES; ++i) out[i] = raw(x[i]);
}
#ifdef __AMDGCN__
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 1024)))
void kernel(const u32* in, u32* out) {
  const u32 tid = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  body(in + tid * VARIABLES, out + tid * VARIABLES);
}
#else
extern "C" void kernel(const u32* in, u32* out, u32 count) {
  const u32 before = __builtin_ia32_stmxcsr();
#ifndef KEEP
  __builtin_ia32_ldmxcsr(before | 0x8040);
#endif
  for (u32 tid = 0; tid < count; ++tid) body(in + tid * VARIABLES, out + tid * VARIABLES);
  __builtin_ia32_ldmxcsr(before);
}
#endif
"""


def write_program(seed: int, size: int = 60) -> str:
    """Return the source of a program."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, no secret
    lines = []
    for _ in range(size):
        a, b, c, target = (f"x[{chance.randrange(VARIABLES)}]" for _ in range(4))
        choices = (
            f"{a} + {b}",
            f"{a} - {b}",
            f"{a} * {b}",
            f"{a} * 0x1p{chance.randrange(-100, 100)}f",
            f"__builtin_fmaf({a}, {b}, {c})",
            f"{a} < {b} ? {c} : -{a}",
            f"__builtin_fabsf({a})",
            f"{a} + (f32)(i32)(raw({b}) >> 20) * 0x1p-130f",
        )
        lines.append(f"  {target} = {chance.choice(choices)};")
    return _PROGRAM.replace("STATEMENTS", "\n".join(lines)).replace("VARIABLES", str(VARIABLES))
