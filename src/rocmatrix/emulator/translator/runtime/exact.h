// Matrix instructions in the exact arithmetic of rocmatrix.emulator.matrix_exact, which has its rules and their source.

#pragma once

#include "matrix.h"

#define NO_EXPONENT (-600)       // of zero: a product with it never is the largest
#define SPECIAL_EXPONENT 10000   // of infinity and NaN
#define INFINITE_EXPONENT 128    // from which on a product is infinite
#define PRODUCT_BITS 24
#define C_REACH 25

// Exponents of numbers; denormals of their type have that of its smallest normal number.
OUTLINE void exponents(const s_f32* in, s_i32* out, int count, int smallest) {
  for (int i = 0; i < count; ++i) {
    const s_u32 bits = BITS(s_u32, in[i]);
    const s_i32 field = (s_i32)(bits >> 23 & 0xff), exponent = field - 127;
    out[i] = !(bits << 1) ? NO_EXPONENT : field == 0xff ? SPECIAL_EXPONENT : exponent < smallest ? smallest : exponent;
  }
}

// Numbers of float32's range become their significands; infinity and NaN stay.
OUTLINE void significands(s_f32* values, int count) {
  for (int i = 0; i < count; ++i) {
    const s_u32 bits = BITS(s_u32, values[i]), field = bits >> 23 & 0xff;
    if (field == 0) values[i] *= 0x1p126f;
    else if (field != 0xff) values[i] = BITS(s_f32, (bits & 0x807fffffu) | 0x3f800000u);
  }
}

// 2**n as float32, for what a truncated term needs: anything below 2**-30 comes to nothing.
#define F32_POWER(T, U, n) BITS(T, (__builtin_elementwise_max(n, (U)(-30)) + 127) << 23)

// A product in units of the last fraction bit, truncated: of numbers whose products float32 holds, and of significands.
#define TERM_NUMBERS(T, U, a, b, e, largest)                                                                            \
  CAST(U, (a) * (b) * F32_POWER(T, U, PRODUCT_BITS - __builtin_elementwise_max(largest, (U)(-100))))
#define TERM_SIGNIFICANDS(T, U, a, b, e, largest) CAST(U, (a) * (b) * F32_POWER(T, U, PRODUCT_BITS + (e) - (largest)))

// c + dot * 2**(exponent - PRODUCT_BITS), rounded; REACH: whether a c far below counts as zero.
#define SETTLE(name, N, REACH)                                                                                          \
  typedef s_f32 name##_row __attribute__((ext_vector_type(N), aligned(4)));                                             \
  typedef s_i32 name##_int __attribute__((ext_vector_type(N), aligned(4)));                                             \
  typedef s_f64 name##_wide __attribute__((ext_vector_type(N)));                                                        \
  typedef s_i64 name##_long __attribute__((ext_vector_type(N)));                                                        \
  INLINE name##_wide name##_power(name##_int n) { return BITS(name##_wide, (CAST(name##_long, n) + 1023) << 52); }       \
  INLINE name##_row name##_settle(name##_int dot, name##_int exponent, name##_row c) {                                  \
    const name##_int bits = BITS(name##_int, c), field = (bits >> 23) & 0xff, zero = (name##_int)(0);                   \
    const name##_int fraction = (bits & 0x7fffff) | (field != zero ? (name##_int)(0x800000) : zero);                    \
    const name##_int significand = bits < zero ? -fraction : fraction;                                                  \
    const name##_int mine = __builtin_elementwise_max(field, (name##_int)(1)) - 127;                                    \
    const name##_int largest = __builtin_elementwise_max(exponent, mine);                                               \
    const name##_int below = __builtin_elementwise_max(exponent - largest, (name##_int)(-900));                         \
    name##_wide sum = __builtin_elementwise_floor(CAST(name##_wide, dot) * name##_power(below + 8));                    \
    name##_wide addend = __builtin_elementwise_floor(CAST(name##_wide, significand) * name##_power(mine - largest + 1)); \
    if (REACH) addend = CAST(name##_long, mine < largest - C_REACH) ? (name##_wide)(0.0) : addend;                      \
    sum += addend * 256.0;                                                                                              \
    const name##_int size = CAST(name##_int, (BITS(name##_long, sum) >> 52) & 0x7ff) - 1023;                            \
    const name##_int finest = __builtin_elementwise_max(-125 - largest, zero);                                          \
    const name##_int cut = __builtin_elementwise_max(size - 31, finest);                                                \
    sum = __builtin_elementwise_floor(sum * name##_power(-cut)) * name##_power(largest - 32 + cut);                     \
    const name##_row settled = SETTLED_f32(name##_row, c), rounded = CAST(name##_row, sum);                             \
    return field == 0xff ? settled : rounded;                                                                           \
  }

// The lanes of a group of k in which a product is infinite or NaN: `before` is what it was added to.
#define PATCH(name, N, K, STEP)                                                                                         \
  OUTLINE void name##_patch(const s_f32* a, const s_i32* ea, const s_f32* b, const s_i32* eb, const s_u16* ka,          \
                            const s_u16* kb, int row, const s_f32* before, s_f32* sum) {                                \
    for (int n = 0; n < (N); ++n) {                                                                                     \
      s_f32 special = before[n];                                                                                        \
      int found = 0;                                                                                                    \
      for (int k = 0; k < (STEP); ++k) {                                                                                \
        const s_f32 product = a[ka[k] + row] * b[kb[k] + n];                                                            \
        const s_i32 carry = product >= 2 || product <= -2, exponent = ea[ka[k] + row] + eb[kb[k] + n];                  \
        if (product - product == 0 && exponent + carry < INFINITE_EXPONENT) continue;                                   \
        special += product * __builtin_inff();                                                                          \
        found = 1;                                                                                                      \
      }                                                                                                                 \
      if (found) sum[n] = special == special ? special : default_s_f32();                                               \
    }                                                                                                                   \
  }

// D = A B + C with `ka`, `kb` and `kd` as in MULTIPLY. STEP: how many k are added at once; PARTS: 2 where even and odd k are
// summed apart.
#define EXACT(name, M, N, K, BLOCKS, STEP, PARTS, TERM)                                                                 \
  SETTLE(name, N, (PARTS) == 2)                                                                                         \
  PATCH(name, N, K, STEP)                                                                                               \
  OUTLINE void name##_sum(const s_f32* a, const s_i32* ea, const s_f32* b, const s_i32* eb, s_f32* d, const s_u16* ka,  \
                          const s_u16* kb, const s_u16* kd) {                                                           \
    for (int line = 0; line < (M) * (BLOCKS); ++line) {                                                                 \
      const int row = line % (M), first = line / (M) * (K);                                                             \
      name##_row sum = *(const name##_row*)(d + kd[line]);                                                              \
      for (int start = first; start < first + (K); start += (STEP)) {                                                   \
        name##_int dots[PARTS], largest[PARTS];                                                                         \
        for (int part = 0; part < (PARTS); ++part) {                                                                    \
          name##_int most = (name##_int)(2 * NO_EXPONENT), dot = (name##_int)(0);                                       \
          _Pragma("clang loop unroll(disable)") for (int k = start + part; k < start + (STEP); k += (PARTS))            \
            most = __builtin_elementwise_max(most, *(const name##_int*)(eb + kb[k]) + ea[ka[k] + row]);                 \
          _Pragma("clang loop unroll(disable)") for (int k = start + part; k < start + (STEP); k += (PARTS))            \
            dot += TERM(name##_row, name##_int, (name##_row)(a[ka[k] + row]), *(const name##_row*)(b + kb[k]),          \
                        *(const name##_int*)(eb + kb[k]) + ea[ka[k] + row], most);                                      \
          dots[part] = dot;                                                                                             \
          largest[part] = most;                                                                                         \
        }                                                                                                               \
        name##_int dot = dots[0], most = largest[0];                                                                    \
        if ((PARTS) == 2) {                                                                                             \
          most = __builtin_elementwise_max(largest[0], largest[(PARTS) - 1]);                                           \
          dot = (dots[0] >> __builtin_elementwise_min(most - largest[0], (name##_int)(31))) +                           \
                (dots[(PARTS) - 1] >> __builtin_elementwise_min(most - largest[(PARTS) - 1], (name##_int)(31)));        \
        }                                                                                                               \
        const name##_row before = sum;                                                                                  \
        sum = name##_settle(dot, most, sum);                                                                            \
        if (__builtin_reduce_max(most) >= INFINITE_EXPONENT - 1)                                                        \
          name##_patch(a, ea, b, eb, ka + start, kb + start, row, (const s_f32*)&before, (s_f32*)&sum);                 \
      }                                                                                                                 \
      *(name##_row*)(d + kd[line]) = sum;                                                                               \
    }                                                                                                                   \
  }
