// Matrix instructions in the fast arithmetic of rocmatrix.emulator.matrix_unit: sums in the order of k.

#pragma once

#include "wave.h"

typedef s_u32 words[LANES];

// --- elements of A and B as numbers: out[element][lane] -----------------------------------------------------------------

#define DECODER(name, T, parts, width, expression)                                                                      \
  OUTLINE void decode_##name(const words* in, int registers, T (*out)[LANES]) {                                         \
    for (int r = 0; r < registers; ++r) {                                                                               \
      for (int part = 0; part < (parts); ++part) {                                                                      \
        LOOP {                                                                                                          \
          const v_u32 word = ((const v_u32*)in[r])[g] >> (s_u32)(part * (width));                                       \
          ((v_##name##_number*)out[r * (parts) + part])[g] = (expression);                                              \
        }                                                                                                               \
      }                                                                                                                 \
    }                                                                                                                   \
  }

typedef v_f32 v_f32_number, v_xf32_number, v_f16_number, v_bf16_number, v_fp8_number, v_bf8_number;
typedef v_i32 v_i8_number;

// An 8-bit float: its fields at the place of float32's, times the power of two between the biases; 0x80 is NaN.
INLINE v_f32 from_fnuz(v_u32 byte, int shift, s_f32 scale) {
  const v_f32 magnitude = BITS(v_f32, (byte & 0x7f) << (s_u32)shift) * scale;
  const v_u32 bits = BITS(v_u32, magnitude) | (byte & 0x80) << 24;
  return BITS(v_f32, byte == 0x80 ? (v_u32)(0x7fc00000u) : bits);
}

DECODER(f32, s_f32, 1, 0, BITS(v_f32, word))
DECODER(xf32, s_f32, 1, 0, BITS(v_f32, word & 0xffffe000u))
DECODER(f16, s_f32, 2, 16, f16_to_f32_v(CAST(v_f16, word & 0xffff)))
DECODER(bf16, s_f32, 2, 16, BITS(v_f32, word << 16))
DECODER(fp8, s_f32, 4, 8, from_fnuz(word & 0xff, 20, 0x1p119f))
DECODER(bf8, s_f32, 4, 8, from_fnuz(word & 0xff, 21, 0x1p111f))
DECODER(i8, s_i32, 4, 8, CAST(v_i32, CAST(v_i8, word & 0xff)))

OUTLINE void decode_f64(const words* in, int registers, s_f64 (*out)[LANES]) {
  for (int r = 0; r < registers; r += 2) {
    LOOP {
      const v_u64 low = CAST(v_u64, ((const v_u32*)in[r])[g]), high = CAST(v_u64, ((const v_u32*)in[r + 1])[g]);
      ((v_f64*)out[r / 2])[g] = BITS(v_f64, low | high << 32);
    }
  }
}

// Lanes of B replaced: each lane takes that of lane `first + lane % size`, counted around.
#define PERMUTED(T)                                                                                                     \
  OUTLINE void permute_##T(s_##T (*values)[LANES], int elements, int size, int first) {                                 \
    for (int e = 0; e < elements; ++e) {                                                                                \
      s_##T row[LANES];                                                                                                 \
      for (int lane = 0; lane < LANES; ++lane) row[lane] = values[e][(first + lane % size) % LANES];                         \
      __builtin_memcpy(values[e], row, sizeof row);                                                                     \
    }                                                                                                                   \
  }
PERMUTED(f32)
PERMUTED(i32)

#define NEGATED(name, T)                                                                                                \
  OUTLINE void negate_##name(T* values, int count) {                                                                    \
    for (int i = 0; i < count; ++i) values[i] = -values[i];                                                             \
  }
NEGATED(f64, s_f64)

#define SETTLED_f32(type, a) ((a) == (a) ? (a) : (type)(default_s_f32()))
#define SETTLED_f64(type, a) ((a) == (a) ? (a) : (type)(default_s_f64()))
#define SETTLED_i32(type, a) (a)

// D = A B + C. `ka`, `kb` and `kd` say where in a, b and c the first of consecutive rows (of A) or columns (of B, of C) lies.
// ROWS rows at a time keep the columns of B in registers. STEP(a, b, c) is the arithmetic.
#define MULTIPLY(name, T, M, N, K, BLOCKS, ROWS, STEP)                                                                   \
  typedef s_##T name##_row __attribute__((ext_vector_type(N), aligned(4)));                                             \
  OUTLINE void name##_sum(const s_##T* a, const s_##T* b, const s_##T* c, s_##T* d, const s_u16* ka, const s_u16* kb,    \
                          const s_u16* kd) {                                                                            \
    for (int block = 0; block < (BLOCKS); ++block) {                                                                    \
      for (int row = 0; row < (M); row += (ROWS)) {                                                                     \
        name##_row sum[ROWS];                                                                                           \
        for (int r = 0; r < (ROWS); ++r) sum[r] = *(const name##_row*)(c + kd[block * (M) + row + r]);                  \
        _Pragma("clang loop unroll(disable)") for (int k = 0; k < (K); ++k) {                                           \
          const name##_row right = *(const name##_row*)(b + kb[block * (K) + k]);                                       \
          const s_##T* left = a + ka[block * (K) + k] + row;                                                            \
          for (int r = 0; r < (ROWS); ++r) sum[r] = STEP(((name##_row)(left[r])), right, sum[r]);                       \
        }                                                                                                               \
        for (int r = 0; r < (ROWS); ++r)                                                                                \
          *(name##_row*)(d + kd[block * (M) + row + r]) = SETTLED_##T(name##_row, sum[r]);                              \
      }                                                                                                                 \
    }                                                                                                                   \
  }

#define FUSED(a, b, c) __builtin_elementwise_fma(a, b, c)
#define SEPARATE(a, b, c) ((a) * (b) + (c))
