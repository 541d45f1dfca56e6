// Small kernels, each for one thing that compiled code for gfx942 does and random C programs do not.
#include <hip/hip_runtime.h>

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef __attribute__((address_space(3))) void* LdsPointer;
typedef __attribute__((address_space(1))) void* GlobalPointer;
#define LANE (__builtin_amdgcn_workitem_id_x())

extern "C" {

// out = gridDim, blockDim, blockIdx and threadIdx of each work-item, linear in all three dimensions
__global__ void geometry(uint32_t* out) {
  const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  uint32_t* mine = out + 4 * (block * (blockDim.x * blockDim.y * blockDim.z) + thread);
  mine[0] = gridDim.x | gridDim.y << 8 | gridDim.z << 16;
  mine[1] = blockDim.x | blockDim.y << 8 | blockDim.z << 16;
  mine[2] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
  mine[3] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
}

// Sum of a workgroup's numbers through LDS and barriers; waves beyond the first leave before the last barrier.
__global__ void reduce(const float* in, float* out, int n) {
  extern __shared__ float partial[];
  const int thread = threadIdx.x;
  float sum = 0;
  for (int i = thread; i < n; i += blockDim.x) sum += in[i];
  partial[thread] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step >= 64; step /= 2) {
    if (thread < step) partial[thread] += partial[thread + step];
    __syncthreads();
  }
  if (thread >= 64) return;
  __builtin_amdgcn_s_barrier();
  float value = partial[thread];
  for (int step = 32; step; step /= 2)
    value += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(4 * ((thread + step) & 63), __builtin_bit_cast(int, value)));
  if (thread == 0) out[blockIdx.x] = value;
}

__global__ void lanes(const int* in, int* out) {
  const int lane = LANE, value = in[lane];
  int place = lane;
  auto put = [&](int result) { out[place] = result; place += 64; };
  put(__builtin_amdgcn_update_dpp(-7, value, 0x111, 0xf, 0xf, false));    // row_shr:1
  put(__builtin_amdgcn_update_dpp(-7, value, 0x101, 0xf, 0xf, true));     // row_shl:1 bound_ctrl
  put(__builtin_amdgcn_update_dpp(-7, value, 0x1b, 0xf, 0xf, false));     // quad_perm:[3,2,1,0]
  put(__builtin_amdgcn_update_dpp(-7, value, 0x142, 0xa, 0xf, false));    // row_bcast:15 row_mask:0xa
  put(__builtin_amdgcn_update_dpp(-7, value, 0x143, 0xc, 0xf, false));    // row_bcast:31
  put(__builtin_amdgcn_update_dpp(-7, value, 0x124, 0xf, 0x5, false));    // row_ror:4 bank_mask:0x5
  put(__builtin_amdgcn_update_dpp(-7, value, 0x140, 0xf, 0xf, false));    // row_mirror
  put(__builtin_amdgcn_update_dpp(-7, value, 0x141, 0xf, 0xf, false));    // row_half_mirror
  put(__builtin_amdgcn_ds_swizzle(value, 0x041F));                        // bitmask: xor 1
  put(__builtin_amdgcn_ds_swizzle(value, 0x8000 | 0x4e));                 // quad: [2,3,0,1]
  put(__builtin_amdgcn_ds_permute(4 * ((lane * 5 + 3) & 63), value));
  put(__builtin_amdgcn_readlane(value, 37));
  int written = value;
  asm("v_writelane_b32 %0, %1, 11" : "+v"(written) : "s"(__builtin_amdgcn_readfirstlane(in[5])));
  put(written);
  put(__builtin_amdgcn_mbcnt_hi(0x12345678, __builtin_amdgcn_mbcnt_lo(0x9abcdef0, 5)));
  if (lane & 2) {
    const unsigned long long mask = __builtin_amdgcn_ballot_w64(value > 0);
    put((int)mask ^ (int)(mask >> 32));
    put(__builtin_amdgcn_readfirstlane(value));
    put(__builtin_amdgcn_ds_bpermute(4 * ((lane + 1) & 63), value));
  }
}

// Raw buffers: loads beyond the end give 0, stores beyond it are dropped.
__global__ void buffers(int* in, int* out, int bytes) {
  auto source = __builtin_amdgcn_make_buffer_rsrc(in, 0, bytes, 0x27000);
  auto target = __builtin_amdgcn_make_buffer_rsrc(out, 0, bytes, 0x27000);
  const i32x4 four = __builtin_amdgcn_raw_buffer_load_b128(source, 16 * LANE, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(four + 1, target, 16 * LANE, 0, 0);
  const int one = __builtin_amdgcn_raw_buffer_load_b32(source, 4 * LANE, 64, 0);
  __builtin_amdgcn_raw_buffer_store_b32(one, target, 4 * LANE, 1024, 0);
}

__global__ void load_to_lds(const int* in, int* out) {
  __shared__ int tile[256];
  const int wave = LANE / 64 * 64;
  __builtin_amdgcn_global_load_lds((GlobalPointer)(in + (LANE ^ 5)), (LdsPointer)(tile + wave), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __syncthreads();
  out[LANE] = tile[(LANE + 64) & 255];
}

__global__ void float_atomics(float* sums, double* wide, const float* in) {
  __shared__ float local[4];
  if (LANE < 4) local[LANE] = 0;
  __syncthreads();
  __atomic_fetch_add(&local[LANE & 3], in[LANE], __ATOMIC_RELAXED);
  __atomic_fetch_add(&sums[LANE & 7], in[LANE], __ATOMIC_RELAXED);
  __atomic_fetch_add(&wide[LANE & 1], (double)in[LANE], __ATOMIC_RELAXED);
  __syncthreads();
  if (LANE < 4) sums[8 + LANE] = local[LANE];
}

__global__ void compare_and_swap(uint32_t* counter, uint64_t* wide) {
  for (uint32_t old = *(volatile uint32_t*)counter, seen;; old = seen) {
    seen = old;
    if (__atomic_compare_exchange_n(counter, &seen, old * 3 + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
  }
  __atomic_fetch_max(wide, (uint64_t)LANE << 33, __ATOMIC_RELAXED);
}

__global__ void eight_bit_floats(const float* in, uint32_t* out, float* back) {
  const float a = in[2 * LANE], b = in[2 * LANE + 1];
  uint32_t packed = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0x55555555, false);
  packed = __builtin_amdgcn_cvt_pk_bf8_f32(a, b, packed, true);
  out[LANE] = packed;
  back[4 * LANE] = __builtin_amdgcn_cvt_f32_fp8(packed, 0);
  back[4 * LANE + 1] = __builtin_amdgcn_cvt_pk_f32_fp8(packed, false)[1];
  back[4 * LANE + 2] = __builtin_amdgcn_cvt_f32_bf8(packed, 2);
  back[4 * LANE + 3] = __builtin_amdgcn_cvt_pk_f32_bf8(packed, true)[1];
}

// Each wave waits until the one before it has raised the flag: waves must take turns.
__global__ void relay(volatile uint32_t* flag, uint32_t* out) {
  const uint32_t wave = LANE / 64;
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != wave) __builtin_amdgcn_s_sleep(1);
  out[LANE] = LANE;
  if (LANE % 64 == 0) __atomic_store_n(flag, wave + 1, __ATOMIC_RELEASE);
}

// Registers whose number is known only when the code runs, another one in each lane.
__global__ void indexed_registers(const float* in, float* out) {
  f32x32 numbers;
  for (int i = 0; i < 32; ++i) numbers[i] = in[64 * i + LANE];
  numbers[__builtin_bit_cast(int, in[LANE]) & 31] = -1;
  out[LANE] = numbers[LANE * 7 & 31];
}

__global__ void never_ends(volatile uint32_t* flag) { while (*flag == 0) {} }
__global__ void lonely_barrier(volatile uint32_t* flag) {
  if (LANE < 64) __syncthreads();
  else while (*flag == 0) {}
}
__global__ void trap(uint32_t*) { __builtin_trap(); }
__global__ void out_of_bounds(uint32_t* out) { out[LANE + 1000] = 1; }
__global__ void out_of_lds(uint32_t* out) {
  extern __shared__ uint32_t tile[];
  tile[LANE * 4] = LANE;
  out[LANE] = tile[LANE];
}
__global__ void structured_sparse(const int* in, f32x4* out) {
  typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
  typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
  out[LANE] = __builtin_amdgcn_smfmac_f32_16x16x32_f16(f16x4{}, f16x8{}, out[LANE], in[LANE], 0, 0);
}
// HW_REG_XCC_ID (20) and HW_REG_HW_ID (4) of each wave, whole, and a clock that is not looked at
__global__ void where_it_runs(uint32_t* out) {
  const uint32_t wave = blockIdx.x * (blockDim.x / 64) + LANE / 64;
  asm volatile("" ::"s"(__builtin_amdgcn_s_memtime()));
  out[2 * wave] = __builtin_amdgcn_s_getreg(20 | 31 << 11);
  out[2 * wave + 1] = __builtin_amdgcn_s_getreg(4 | 31 << 11);
}
__global__ void prints(uint32_t* out) {
  const auto hidden = (const __attribute__((address_space(4))) uint64_t*)__builtin_amdgcn_implicitarg_ptr();
  out[LANE] = *(const uint32_t*)hidden[10];  // the buffer of host calls
}
// Depth is known only when the code runs, and with it the size of the stack; 64 bytes and more for each level.
__device__ __attribute__((noinline)) int levels(int depth) {
  volatile int kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = depth + i;
  return depth == 0 ? 1 : levels(depth - 1) + kept[depth & 15] - depth;
}
__global__ void recursive(const int* depth, int* out) { out[LANE] = levels(depth[LANE]); }
}
