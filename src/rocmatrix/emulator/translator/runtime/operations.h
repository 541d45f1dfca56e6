// Values of the algebra in C: one kind as a scalar (s_) and as a group of lanes (v_), and the primitives whose rules are
// more than an operator of C. The rules are those of rocmatrix.emulator.algebra.Op; needs clang's extended vectors.

#pragma once

#include <stdint.h>

#define LANES 64
#define GROUP 8
#define GROUPS (LANES / GROUP)
#define INLINE static inline __attribute__((always_inline, unused))
#define OUTLINE static __attribute__((noinline, unused))
#define VECTOR(name, type) typedef type name __attribute__((ext_vector_type(GROUP)))

typedef _Bool s_bool;
typedef uint8_t s_u8;
typedef int8_t s_i8;
typedef uint16_t s_u16;
typedef int16_t s_i16;
typedef uint32_t s_u32;
typedef int32_t s_i32;
typedef uint64_t s_u64;
typedef int64_t s_i64;
typedef uint16_t s_f16;  // its bits
typedef float s_f32;
typedef double s_f64;

VECTOR(v_bool, int32_t);  // 0 or -1
VECTOR(v_u8, uint8_t);
VECTOR(v_i8, int8_t);
VECTOR(v_u16, uint16_t);
VECTOR(v_i16, int16_t);
VECTOR(v_u32, uint32_t);
VECTOR(v_i32, int32_t);
VECTOR(v_u64, uint64_t);
VECTOR(v_i64, int64_t);
VECTOR(v_f16, uint16_t);
VECTOR(v_f32, float);
VECTOR(v_f64, double);

// Masks of the widths that a choice between values needs.
VECTOR(v_mask8, int8_t);
VECTOR(v_mask16, int16_t);
VECTOR(v_mask64, int64_t);
VECTOR(v_bits, _Bool);

#define ALIGNED __attribute__((aligned(64)))
#define LOOP _Pragma("clang loop unroll(disable)") for (int g = 0; g < GROUPS; ++g)
#define CAST(type, value) __builtin_convertvector((value), type)
#define BITS(type, value) __builtin_bit_cast(type, (value))

// --- masks of lanes -------------------------------------------------------------------------------------------------

INLINE v_u32 lane_numbers(int group) {
  const v_u32 first = {0, 1, 2, 3, 4, 5, 6, 7};
  return first + (s_u32)(group * GROUP);
}

// The lanes of a group whose bits are set.
INLINE v_bool lanes_of(s_u64 bits, int group) {
  const v_u32 places = {1, 2, 4, 8, 16, 32, 64, 128};
  return ((v_u32)((s_u32)(bits >> (group * GROUP)) & 0xff) & places) != 0;
}

// The bits of a group's lanes, at their place.
INLINE s_u64 bits_of(v_bool lanes, int group) {
  const v_bits bits = CAST(v_bits, lanes);
  return (s_u64)BITS(uint8_t, bits) << (group * GROUP);
}

// --- integers -------------------------------------------------------------------------------------------------------

INLINE s_u32 popcount_s_u32(s_u32 a) { return (s_u32)__builtin_popcount(a); }
INLINE s_u64 popcount_s_u64(s_u64 a) { return (s_u64)__builtin_popcountll(a); }
INLINE v_u32 popcount_v_u32(v_u32 a) { return __builtin_elementwise_popcount(a); }
INLINE v_u64 popcount_v_u64(v_u64 a) { return __builtin_elementwise_popcount(a); }
INLINE s_u32 clz_s_u32(s_u32 a) { return a ? (s_u32)__builtin_clz(a) : 32; }
INLINE s_u64 clz_s_u64(s_u64 a) { return a ? (s_u64)__builtin_clzll(a) : 64; }
INLINE v_u32 clz_v_u32(v_u32 a) { return __builtin_elementwise_clzg(a, (v_u32)(32)); }
INLINE v_u64 clz_v_u64(v_u64 a) { return __builtin_elementwise_clzg(a, (v_u64)(64)); }

// --- float32 and float64: `p` is s_ or v_ -----------------------------------------------------------------------------

// A result that is NaN is the first operand that is NaN, made quiet, or else the default NaN.
#define FLOATS(p, K, U, quiet_bit, default_bits)                                                                        \
  INLINE p##K quiet_##p##K(p##K a) { return BITS(p##K, BITS(p##U, a) | (p##U)(quiet_bit)); }                            \
  INLINE p##K default_##p##K(void) { return BITS(p##K, (p##U)(default_bits)); }                                         \
  INLINE p##K nan1_##p##K(p##K r, p##K a) { return r == r ? r : a != a ? quiet_##p##K(a) : default_##p##K(); }           \
  INLINE p##K nan2_##p##K(p##K r, p##K a, p##K b) { return r == r ? r : a != a ? quiet_##p##K(a) : nan1_##p##K(r, b); }  \
  INLINE p##K nan3_##p##K(p##K r, p##K a, p##K b, p##K c) {                                                              \
    return r == r ? r : a != a ? quiet_##p##K(a) : nan2_##p##K(r, b, c);                                                \
  }                                                                                                                    \
  INLINE p##K add_##p##K(p##K a, p##K b) { return nan2_##p##K(a + b, a, b); }                                           \
  INLINE p##K sub_##p##K(p##K a, p##K b) { return nan2_##p##K(a - b, a, b); }                                           \
  INLINE p##K mul_##p##K(p##K a, p##K b) { return nan2_##p##K(a * b, a, b); }                                           \
  INLINE p##K div_##p##K(p##K a, p##K b) { return nan2_##p##K(a / b, a, b); }                                           \
  INLINE p##K fma_##p##K(p##K a, p##K b, p##K c) {                                                                      \
    return nan3_##p##K(__builtin_elementwise_fma(a, b, c), a, b, c);                                                    \
  }                                                                                                                    \
  INLINE p##K sqrt_##p##K(p##K a) { return nan1_##p##K(__builtin_elementwise_sqrt(a), a); }                             \
  INLINE p##K trunc_##p##K(p##K a) { return nan1_##p##K(__builtin_elementwise_trunc(a), a); }                           \
  INLINE p##K floor_##p##K(p##K a) { return nan1_##p##K(__builtin_elementwise_floor(a), a); }                           \
  INLINE p##K ceil_##p##K(p##K a) { return nan1_##p##K(__builtin_elementwise_ceil(a), a); }                             \
  INLINE p##K rndne_##p##K(p##K a) { return nan1_##p##K(__builtin_elementwise_roundeven(a), a); }

FLOATS(s_, f32, u32, 0x00400000u, 0x7fc00000u)
FLOATS(v_, f32, u32, 0x00400000u, 0x7fc00000u)
FLOATS(s_, f64, u64, 0x0008000000000000ull, 0x7ff8000000000000ull)
FLOATS(v_, f64, u64, 0x0008000000000000ull, 0x7ff8000000000000ull)

// --- conversions ----------------------------------------------------------------------------------------------------

// Processors keep the upper bits of a NaN's fraction and make it quiet; compilers may take a conversion and its reverse
// for nothing at all, so a NaN is made quiet before it becomes wider.
INLINE s_f64 f32_to_f64_s(s_f32 a) { return (s_f64)(a == a ? a : quiet_s_f32(a)); }
INLINE v_f64 f32_to_f64_v(v_f32 a) { return CAST(v_f64, a == a ? a : quiet_v_f32(a)); }
INLINE s_f32 f64_to_f32_s(s_f64 a) { return (s_f32)a; }
INLINE v_f32 f64_to_f32_v(v_f64 a) { return CAST(v_f32, a); }

#if defined(__F16C__) || defined(__aarch64__)
VECTOR(v_half, _Float16);
INLINE s_f32 f16_to_f32_s(s_f16 a) {
  const s_f16 quiet = (a & 0x7fff) > 0x7c00 ? a | 0x200 : a;
  return (s_f32)BITS(_Float16, quiet);
}
INLINE v_f32 f16_to_f32_v(v_f16 a) {
  const v_f16 magnitude_bits = (v_f16)(0x7fff), infinity = (v_f16)(0x7c00), quiet_bit = (v_f16)(0x200);
  const v_f16 quiet = (a & magnitude_bits) > infinity ? a | quiet_bit : a;
  return CAST(v_f32, BITS(v_half, quiet));
}
INLINE s_f16 f32_to_f16_s(s_f32 a) { return BITS(s_f16, (_Float16)a); }
INLINE v_f16 f32_to_f16_v(v_f32 a) { return BITS(v_f16, CAST(v_half, a)); }
#else
INLINE s_f32 f16_to_f32_s(s_f16 a) {
  const s_u32 sign = (s_u32)(a & 0x8000) << 16, magnitude = a & 0x7fff;
  if (magnitude > 0x7c00) return BITS(s_f32, sign | 0x7fc00000u | magnitude << 13);
  if (magnitude == 0x7c00) return BITS(s_f32, sign | 0x7f800000u);
  return BITS(s_f32, sign | BITS(s_u32, BITS(s_f32, magnitude << 13) * 0x1p112f));
}
INLINE s_f16 f32_to_f16_s(s_f32 a) {
  const s_u32 bits = BITS(s_u32, a), magnitude = bits & 0x7fffffff;
  const s_u16 sign = (s_u16)(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000u) return (s_f16)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000u) return (s_f16)(sign | 0x7c00);
  // below the normal numbers one unit is 2**-24: adding 0.5 lets the processor round there
  if (magnitude < 0x38800000u) return (s_f16)(sign | (BITS(s_u32, BITS(s_f32, magnitude) + 0.5f) - 0x3f000000u));
  return (s_f16)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000u) >> 13);
}
INLINE v_f32 f16_to_f32_v(v_f16 a) {
  v_f32 r;
  for (int i = 0; i < GROUP; ++i) r[i] = f16_to_f32_s(a[i]);
  return r;
}
INLINE v_f16 f32_to_f16_v(v_f32 a) {
  v_f16 r;
  for (int i = 0; i < GROUP; ++i) r[i] = f32_to_f16_s(a[i]);
  return r;
}
#endif

// float64 to float16 rounds once: float32 rounded to odd in between keeps what decides.
INLINE s_f16 f64_to_f16_s(s_f64 a) {
  const s_f32 near = (s_f32)a;
  const s_u32 bits = BITS(s_u32, near);
  const s_f64 rest = a - (s_f64)near;
  if (rest == 0 || rest != rest || __builtin_isinf(near) || (bits & 1)) return f32_to_f16_s(near);
  return f32_to_f16_s(BITS(s_f32, (rest > 0) == (near > 0 || (near == 0 && a > 0)) ? bits + 1 : bits - 1));
}
INLINE v_f16 f64_to_f16_v(v_f64 a) {
  v_f16 r;
  for (int i = 0; i < GROUP; ++i) r[i] = f64_to_f16_s(a[i]);
  return r;
}
INLINE s_f64 f16_to_f64_s(s_f16 a) { return (s_f64)f16_to_f32_s(a); }
INLINE v_f64 f16_to_f64_v(v_f16 a) { return CAST(v_f64, f16_to_f32_v(a)); }

// Towards zero, saturated, 0 for NaN. `high` is the first number that is too large, `low` the last one that is not too small.
#define TO_INTEGER(K, T, low, high, least, largest)                                                                     \
  INLINE s_##T K##_to_##T##_s(s_##K a) {                                                                                \
    return a >= high ? largest : a >= low ? (s_##T)a : a != a ? 0 : least;                                              \
  }                                                                                                                    \
  INLINE v_##T K##_to_##T##_v(v_##K a) {                                                                                \
    const v_##K zero = (v_##K)(0);                                                                                      \
    const v_##T inside = CAST(v_##T, a >= (v_##K)(low) ? (a < (v_##K)(high) ? a : zero) : zero);                        \
    const v_##T below = a < (v_##K)(low) ? (v_##T)(least) : inside;                                                     \
    return a >= (v_##K)(high) ? (v_##T)(largest) : below;                                                               \
  }

TO_INTEGER(f32, i32, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
TO_INTEGER(f32, u32, 0.0f, 0x1p32f, 0, UINT32_MAX)
TO_INTEGER(f64, i64, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)
TO_INTEGER(f64, u64, 0.0, 0x1p64, 0, UINT64_MAX)

#define CLAMP(p, T, value, least, largest)                                                                              \
  ((value) < (p##T)(least) ? (p##T)(least) : (value) > (p##T)(largest) ? (p##T)(largest) : (value))

// --- float16: through float32, whose 24 bits make the second rounding harmless --------------------------------------

#define HALVES(p, s)                                                                                                    \
  INLINE p##f16 add_##p##f16(p##f16 a, p##f16 b) {                                                                      \
    return f32_to_f16_##s(add_##p##f32(f16_to_f32_##s(a), f16_to_f32_##s(b)));                                          \
  }                                                                                                                    \
  INLINE p##f16 sub_##p##f16(p##f16 a, p##f16 b) {                                                                      \
    return f32_to_f16_##s(sub_##p##f32(f16_to_f32_##s(a), f16_to_f32_##s(b)));                                          \
  }                                                                                                                    \
  INLINE p##f16 mul_##p##f16(p##f16 a, p##f16 b) {                                                                      \
    return f32_to_f16_##s(mul_##p##f32(f16_to_f32_##s(a), f16_to_f32_##s(b)));                                          \
  }                                                                                                                    \
  INLINE p##f16 div_##p##f16(p##f16 a, p##f16 b) {                                                                      \
    return f32_to_f16_##s(div_##p##f32(f16_to_f32_##s(a), f16_to_f32_##s(b)));                                          \
  }                                                                                                                    \
  INLINE p##f16 sqrt_##p##f16(p##f16 a) { return f32_to_f16_##s(sqrt_##p##f32(f16_to_f32_##s(a))); }                    \
  INLINE p##f16 trunc_##p##f16(p##f16 a) { return f32_to_f16_##s(trunc_##p##f32(f16_to_f32_##s(a))); }                  \
  INLINE p##f16 floor_##p##f16(p##f16 a) { return f32_to_f16_##s(floor_##p##f32(f16_to_f32_##s(a))); }                  \
  INLINE p##f16 ceil_##p##f16(p##f16 a) { return f32_to_f16_##s(ceil_##p##f32(f16_to_f32_##s(a))); }                    \
  INLINE p##f16 rndne_##p##f16(p##f16 a) { return f32_to_f16_##s(rndne_##p##f32(f16_to_f32_##s(a))); }

HALVES(s_, s)
HALVES(v_, v)

// The product is exact in float32; the sum is rounded to odd there, and then once to float16 (Boldo and Melquiond).
INLINE s_f16 fma_s_f16(s_f16 x, s_f16 y, s_f16 z) {
  const s_f32 a = f16_to_f32_s(x), b = f16_to_f32_s(y), c = f16_to_f32_s(z), product = a * b, total = product + c;
  const s_f32 part = total - product, error = (product - (total - part)) + (c - part);
  s_u32 bits = BITS(s_u32, total);
  if (error != 0 && error == error && !__builtin_isinf(error) && !(bits & 1)) bits += (error > 0) == (total > 0) ? 1 : -1;
  return f32_to_f16_s(nan3_s_f32(BITS(s_f32, bits), a, b, c));
}
INLINE v_f16 fma_v_f16(v_f16 x, v_f16 y, v_f16 z) {
  const v_f32 a = f16_to_f32_v(x), b = f16_to_f32_v(y), c = f16_to_f32_v(z), product = a * b, total = product + c;
  const v_f32 part = total - product, error = (product - (total - part)) + (c - part), zero = (v_f32)(0);
  const v_u32 bits = BITS(v_u32, total), one = (v_u32)(1);
  const v_bool finite = error - error == zero;
  const v_bool wrong = finite & (error != zero) & ((bits & one) == (v_u32)(0));
  const v_u32 step = (error > zero) == (total > zero) ? one : -one;
  return f32_to_f16_v(nan3_v_f32(BITS(v_f32, wrong ? bits + step : bits), a, b, c));
}
