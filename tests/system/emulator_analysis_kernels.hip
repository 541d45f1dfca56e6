// Kernels whose compiled code needs waits and wait states of every kind that gfx942 has: what the static detectors must
// stay silent about, and find as soon as one of them is taken away. They are analysed, not executed.

#include <hip/hip_runtime.h>

#define LANE ((int)__builtin_amdgcn_workitem_id_x())

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x2 __attribute__((ext_vector_type(2)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x16 __attribute__((ext_vector_type(16)));
typedef int i32x32 __attribute__((ext_vector_type(32)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef short i16x2 __attribute__((ext_vector_type(2)));
typedef short i16x4 __attribute__((ext_vector_type(4)));

template <class T, class S>
__device__ T first_bits(S value) {
  T result;
  __builtin_memcpy(&result, &value, sizeof(T));
  return result;
}

// A matrix instruction feeds itself as C and as A, vector arithmetic and memory; its C is overwritten behind it.
#define MATRIX(NAME, OPERAND, RESULT)                                                                          \
  extern "C" __global__ void NAME##_chain(const OPERAND* in, const RESULT* added, RESULT* out) {               \
    OPERAND a = in[LANE], b = in[LANE + 64];                                                                   \
    RESULT c = added[LANE];                                                                                    \
    RESULT d = __builtin_amdgcn_mfma_##NAME(a, b, c, 0, 0, 0);                                                 \
    d = __builtin_amdgcn_mfma_##NAME(b, a, d, 0, 0, 0);                                                        \
    RESULT e = __builtin_amdgcn_mfma_##NAME(first_bits<OPERAND>(d), b, c, 0, 0, 0);                            \
    out[LANE] = d;                                                                                             \
    out[LANE + 64] = e * e;                                                                                    \
  }                                                                                                            \
  extern "C" __global__ void NAME##_loop(const OPERAND* in, RESULT* out, int count) {                          \
    RESULT sum = {}, other = {};                                                                               \
    for (int i = 0; i < count; ++i) {                                                                          \
      OPERAND a = in[64 * i + LANE], b = in[64 * i + LANE + 32];                                               \
      sum = __builtin_amdgcn_mfma_##NAME(a, b, sum, 0, 0, 0);                                                  \
      other = __builtin_amdgcn_mfma_##NAME(b, a, other, 0, 0, 0) * other;                                      \
    }                                                                                                          \
    out[LANE] = sum;                                                                                           \
    out[LANE + 64] = other;                                                                                    \
  }

MATRIX(f32_32x32x1f32, float, f32x32)
MATRIX(f32_16x16x1f32, float, f32x16)
MATRIX(f32_4x4x1f32, float, f32x4)
MATRIX(f32_32x32x2f32, float, f32x16)
MATRIX(f32_16x16x4f32, float, f32x4)
MATRIX(f32_32x32x4f16, f16x4, f32x32)
MATRIX(f32_16x16x4f16, f16x4, f32x16)
MATRIX(f32_4x4x4f16, f16x4, f32x4)
MATRIX(f32_32x32x8f16, f16x4, f32x16)
MATRIX(f32_16x16x16f16, f16x4, f32x4)
MATRIX(f32_32x32x4bf16_1k, i16x4, f32x32)
MATRIX(f32_16x16x4bf16_1k, i16x4, f32x16)
MATRIX(f32_4x4x4bf16_1k, i16x4, f32x4)
MATRIX(f32_32x32x8bf16_1k, i16x4, f32x16)
MATRIX(f32_16x16x16bf16_1k, i16x4, f32x4)
MATRIX(i32_32x32x4i8, int, i32x32)
MATRIX(i32_16x16x4i8, int, i32x16)
MATRIX(i32_4x4x4i8, int, i32x4)
MATRIX(i32_32x32x16_i8, long, i32x16)
MATRIX(i32_16x16x32_i8, long, i32x4)
MATRIX(f32_16x16x8_xf32, f32x2, f32x4)
MATRIX(f32_32x32x4_xf32, f32x2, f32x16)
MATRIX(f32_16x16x32_fp8_fp8, long, f32x4)
MATRIX(f32_32x32x16_bf8_fp8, long, f32x16)
MATRIX(f64_16x16x4f64, double, f64x4)
MATRIX(f64_4x4x4f64, double, double)

// Different matrix instructions behind each other, and float64 arithmetic behind a float64 one.
extern "C" __global__ void mixed_matrices(const float* in, const double* wide, f32x4* out, double* sums) {
  const float a = in[LANE], b = in[LANE + 64];
  f32x4 c = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, f32x4{a, b, a, b}, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(first_bits<long>(wide[0]), first_bits<long>(c), c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_4x4x1f32(a, c[1], c, 0, 0, 0);
  double d = __builtin_amdgcn_mfma_f64_4x4x4f64(wide[LANE], wide[LANE + 1], wide[LANE + 2], 0, 0, 0);
  sums[LANE] = __builtin_fma(wide[LANE], wide[LANE + 3], wide[LANE + 4]);
  sums[LANE + 64] = d;
  out[LANE] = c;
}

extern "C" __global__ void sparse(const f16x4* in, f32x4* out) {
  typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
  f32x4 c = out[LANE];
  f16x8 b = *(const f16x8*)(in + 2 * LANE);
  c = __builtin_amdgcn_smfmac_f32_16x16x32_f16(in[LANE], b, c, LANE, 0, 0);
  c = __builtin_amdgcn_smfmac_f32_16x16x32_f16(first_bits<f16x4>(c), b, c, (int)c[2], 0, 0);
  out[LANE] = c;
}

// Lanes: DPP, lane selects that vector arithmetic computed, permutations.
extern "C" __global__ void lane_crossing(const int* in, int* out, int which) {
  int value = in[LANE];
  value += __builtin_amdgcn_update_dpp(0, value, 0x111, 0xF, 0xF, true);
  value += __builtin_amdgcn_update_dpp(0, value, 0x112, 0xF, 0xF, true);
  value += __builtin_amdgcn_update_dpp(value, value, 0x142, 0xA, 0xF, false);
  const int chosen = __builtin_amdgcn_readfirstlane(value) & 63;
  const int other = __builtin_amdgcn_readlane(value, chosen);
  int written = __builtin_amdgcn_ds_bpermute(4 * chosen, value) + other;
  if (value > which) written ^= __builtin_amdgcn_ds_swizzle(written, 0x401F);
  out[LANE] = written + __builtin_amdgcn_mov_dpp(written, 0x1B, 0xF, 0xF, true);
}

extern "C" __global__ void masked_lanes(const int* in, int* out) {
  int value = in[LANE];
  const unsigned long mask = __builtin_amdgcn_ballot_w64(value > 3);
  if (value > 5) value += __builtin_amdgcn_update_dpp(0, value, 0x111, 0xF, 0xF, true);
  out[LANE] = value + (int)mask + __builtin_popcountl(mask);
  out[LANE + 64] = __builtin_amdgcn_readlane(value, __builtin_ctzl(mask));
}

// Divisions, square roots and transcendental functions, of all widths.
extern "C" __global__ void functions(const float* in, const double* wide, const _Float16* narrow, float* out,
                                     double* wide_out, _Float16* narrow_out) {
  const float x = in[LANE], y = in[LANE + 64];
  out[LANE] = x / y + __builtin_sqrtf(y) + __builtin_amdgcn_exp2f(x) * __builtin_amdgcn_logf(y);
  out[LANE + 64] = __builtin_amdgcn_rcpf(x) * y + __builtin_amdgcn_rsqf(y) + __builtin_amdgcn_sinf(x) - x;
  wide_out[LANE] = wide[LANE] / wide[LANE + 64] + __builtin_sqrt(wide[LANE + 128]);
  narrow_out[LANE] = narrow[LANE] / narrow[LANE + 64] + (_Float16)x;
}

// Parts of registers: packed halves, bytes, the upper half of a result.
extern "C" __global__ void parts(const unsigned* in, unsigned* out, const _Float16* half_in, f16x2* half_out) {
  const unsigned a = in[LANE], b = in[LANE + 64];
  out[LANE] = ((a >> 8 & 0xFF) + (b >> 16 & 0xFF)) << 8 | (unsigned char)(a * b);
  out[LANE + 64] = (unsigned short)(a + b) | (unsigned)(unsigned short)(a - b) << 16;
  f16x2 pair = {half_in[LANE] * half_in[LANE + 1], half_in[LANE + 2] + half_in[LANE + 3]};
  half_out[LANE] = pair * pair + pair;
}

extern "C" __global__ void dot_products(const int* in, const f16x2* halves, int* out, float* sums) {
  int sum = __builtin_amdgcn_sdot4(in[LANE], in[LANE + 64], 0, false);
  sum = __builtin_amdgcn_sdot4(sum, in[LANE + 128], sum, false);
  out[LANE] = sum + 1;
  sums[LANE] = __builtin_amdgcn_fdot2(halves[LANE], halves[LANE + 64], (float)sum, false) * 2;
}

// Scalar registers that vector arithmetic writes and memory instructions read.
extern "C" __global__ void uniform_addresses(const int* in, int* out, int bytes) {
  const int offset = __builtin_amdgcn_readfirstlane(in[LANE]);
  auto source = __builtin_amdgcn_make_buffer_rsrc((void*)in, 0, bytes, 0x27000);
  const i32x4 four = __builtin_amdgcn_raw_buffer_load_b128(source, 16 * LANE, offset, 0);
  __builtin_amdgcn_raw_buffer_store_b128(four, source, 16 * LANE, 0, 0);
  *(i32x4*)(out + 4 * LANE) = four + four;
  out[offset] = in[offset + 1] + LANE;
}

// Scalar loads that depend on each other, in a loop.
extern "C" __global__ void linked_list(const int* next, const int* values, int* out, int start) {
  int place = start, sum = 0;
  for (int i = 0; i < 20; ++i) {
    sum += values[place];
    place = next[place];
  }
  out[LANE] = sum;
}

// A tile in two buffers of LDS, the next one loaded while one is used.
extern "C" __global__ void double_buffered(const f32x4* in, f32x4* out, int count) {
  __shared__ f32x4 tiles[2][256];
  f32x4 loaded = in[LANE], sum = {};
  for (int i = 0; i < count; ++i) {
    tiles[i & 1][LANE] = loaded;
    loaded = in[256 * (i + 1) + LANE];
    __syncthreads();
    for (int j = 0; j < 4; ++j) sum += tiles[i & 1][(LANE + 17 * j) & 255];
  }
  out[LANE] = sum;
}

extern "C" __global__ void single_buffered(const f16x4* in, f32x4* out, int count) {
  __shared__ f16x4 tile[512];
  f32x4 sum = {};
  for (int i = 0; i < count; ++i) {
    tile[LANE] = in[512 * i + LANE];
    tile[LANE + 256] = in[512 * i + LANE + 256];
    __syncthreads();
    for (int j = 0; j < 8; ++j)
      sum = __builtin_amdgcn_mfma_f32_16x16x16f16(tile[(LANE + j) & 511], tile[(LANE + 9 * j) & 511], sum, 0, 0, 0);
    __syncthreads();
  }
  out[LANE] = sum;
}

extern "C" __global__ void loaded_to_lds(const int* in, int* out, int count) {
  typedef __attribute__((address_space(1))) void* GlobalPointer;
  typedef __attribute__((address_space(3))) void* LdsPointer;
  __shared__ int tile[1024];
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    __builtin_amdgcn_global_load_lds((GlobalPointer)(in + 256 * i + LANE), (LdsPointer)(tile + 256 * (i & 3)), 4, 0, 0);
    __syncthreads();
    sum += tile[(256 * i + LANE + 7) & 1023];
    __syncthreads();
  }
  out[LANE] = sum;
}

// Memory that workgroups hand to each other.
extern "C" __global__ void handed_over(int* data, int* flag, int* out) {
  __shared__ int last;
  data[LANE + 64 * __builtin_amdgcn_workgroup_id_x()] = LANE;
  __syncthreads();
  if (LANE == 0) last = __hip_atomic_fetch_add(flag, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  __syncthreads();
  if (last == 7) out[LANE] = data[LANE] + data[LANE + 64];
  __hip_atomic_store(flag + 1, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  while (!__hip_atomic_load(flag + 2, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
  out[LANE + 64] = data[LANE];
}

extern "C" __global__ void through_flat_pointers(int* in, int* out, int which) {
  __shared__ int local[64];
  local[LANE] = in[LANE];
  int* place = which ? local : in;
  place[LANE] += 3;
  out[LANE] = place[LANE ^ 1] + __atomic_fetch_add(&place[0], 1, __ATOMIC_RELAXED);
}

// More registers than there are: values go to scratch, and scalar ones to lanes of vector registers.
extern "C" __global__ __attribute__((amdgpu_num_vgpr(32), amdgpu_num_sgpr(32))) void spills(const int* in, int* out) {
  int values[48];
  for (int i = 0; i < 48; ++i) values[i] = in[64 * i + LANE];
  for (int i = 0; i < 48; ++i) out[64 * i + LANE] = values[i] * values[(i * 7 + 3) % 48] + in[i];
}

extern "C" __global__ void dynamic_index(const int* in, int* out, int which) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = in[64 * i + LANE];
  values[which & 15] = 5;
  for (int i = 0; i < 16; ++i) out[64 * i + LANE] = values[i] + values[(which + i) & 15];
}

// A mode of arithmetic that changes.
extern "C" __global__ void rounding(const float* in, float* out) {
  const float x = in[LANE], y = in[LANE + 64];
  out[LANE] = x * y;
  __builtin_amdgcn_s_setreg(1 | 0 << 6 | 3 << 11, 3);
  __builtin_amdgcn_s_setreg(1 | 4 << 6 | 3 << 11, 3);
  out[LANE + 64] = x * y + __builtin_amdgcn_s_getreg(1 | 0 << 6 | 7 << 11);
}

__device__ __attribute__((noinline)) int once_more(int depth, const int* in) {
  return depth > 0 ? in[depth] + once_more(in[depth] - 1, in) : in[LANE];
}

extern "C" __global__ void recursive(const int* in, int* out) { out[LANE] = once_more(in[0], in); }

extern "C" __global__ void through_a_pointer(int (*function)(int), int* out) { out[LANE] = function(LANE) + 1; }
