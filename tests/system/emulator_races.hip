// Kernels with one race, collision or deadlock each, and beside most of them the same kernel without it.
#include <hip/hip_runtime.h>

#define THREAD (__builtin_amdgcn_workitem_id_x())
#define GROUP (__builtin_amdgcn_workgroup_id_x())
typedef __attribute__((address_space(3))) void* LdsPointer;
typedef __attribute__((address_space(1))) void* GlobalPointer;

#define LDS(pointer) ((LdsPointer)(pointer))

// The fences of the memory model, each alone: what __threadfence() and its kind become.
#define FENCE(order, scope) __builtin_amdgcn_fence(order, scope)
__device__ static inline uint32_t peek(uint32_t* p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ static inline void poke(uint32_t* p, uint32_t value) {
  __hip_atomic_store(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ static inline void bare_barrier() {
  asm volatile("s_barrier" ::: "memory");
}

extern "C" {

// --- LDS --------------------------------------------------------------------------------------------------------------

__global__ void exchange(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  __syncthreads();
  out[THREAD] = tile[(THREAD + 64) & 255];
}
__global__ void read_after_write(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  out[THREAD] = tile[(THREAD + 64) & 255];
}
__global__ void write_after_read(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  __syncthreads();
  out[THREAD] = tile[(THREAD + 64) & 255];
  tile[THREAD] = 7;
  __syncthreads();
  out[THREAD] += tile[THREAD ^ 1];
}
// Bytes of one dword, written by four waves: no race.
__global__ void bytes_of_a_dword(uint32_t* out) {
  __shared__ uint8_t tile[256];
  tile[(THREAD & 63) * 4 + THREAD / 64] = THREAD;
  __syncthreads();
  out[THREAD] = tile[THREAD];
}
// A read that is under way when the wave reaches the barrier may be overtaken by the write behind it, and so may a write.
__global__ void pending_read(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  __syncthreads();
  uint32_t value;
  asm volatile("ds_read_b32 %0, %1\n s_barrier\n ds_write_b32 %2, %3\n s_waitcnt lgkmcnt(0)"
               : "=&v"(value) : "v"(LDS(tile + ((THREAD + 64) & 255))), "v"(LDS(tile + THREAD)), "v"(5) : "memory");
  out[THREAD] = value;
}
__global__ void awaited_read(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  __syncthreads();
  uint32_t value;
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)\n s_barrier\n ds_write_b32 %2, %3\n s_waitcnt lgkmcnt(0)"
               : "=&v"(value) : "v"(LDS(tile + ((THREAD + 64) & 255))), "v"(LDS(tile + THREAD)), "v"(5) : "memory");
  out[THREAD] = value;
}
__global__ void pending_write(uint32_t* out) {
  __shared__ uint32_t tile[256];
  uint32_t value;
  tile[THREAD] = 0;
  __syncthreads();
  asm volatile("ds_write_b32 %1, %2\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
               : "=&v"(value) : "v"(LDS(tile + THREAD)), "v"(THREAD), "v"(LDS(tile + ((THREAD + 64) & 255))) : "memory");
  out[THREAD] = value;
}
__global__ void pending_load_to_lds(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t tile[256];
  __builtin_amdgcn_global_load_lds((GlobalPointer)(in + THREAD), (LdsPointer)(tile + THREAD / 64 * 64), 4, 0, 0);
  bare_barrier();
  uint32_t value;
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(value) : "v"(LDS(tile + ((THREAD + 64) & 255))) : "memory");
  out[THREAD] = value;
}
__global__ void lds_histogram(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t bins[64];
  if (THREAD < 64) bins[THREAD] = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&bins[in[THREAD] & 63], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (THREAD < 64) out[THREAD] = bins[THREAD];
}
__global__ void lds_histogram_read_early(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t bins[64];
  if (THREAD < 64) bins[THREAD] = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&bins[in[THREAD] & 63], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  if (THREAD < 64) out[THREAD] = bins[THREAD];
}
// The last wave to count itself reads what all have written.
__global__ void last_wave(uint32_t* out) {
  __shared__ uint32_t tile[256];
  __shared__ uint32_t arrived;
  if (THREAD == 0) arrived = 0;
  __syncthreads();
  tile[THREAD] = THREAD;
  FENCE(__ATOMIC_RELEASE, "workgroup");
  uint32_t before = 0;
  if ((THREAD & 63) == 0) before = __hip_atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  before = __builtin_amdgcn_readfirstlane(before);
  if (before != 3) return;
  FENCE(__ATOMIC_ACQUIRE, "workgroup");
  for (uint32_t i = THREAD & 63; i < 256; i += 64) out[i] = tile[i];
}
// Waves meet at different barriers, and some end before the last one.
__global__ void different_barriers(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  if (THREAD < 64) {
    FENCE(__ATOMIC_RELEASE, "workgroup");
    asm volatile("s_nop 0\n s_barrier" ::: "memory");
    FENCE(__ATOMIC_ACQUIRE, "workgroup");
  } else {
    FENCE(__ATOMIC_RELEASE, "workgroup");
    asm volatile("s_nop 1\n s_barrier" ::: "memory");
    FENCE(__ATOMIC_ACQUIRE, "workgroup");
    if (THREAD >= 128) return;
  }
  out[THREAD] = tile[(THREAD + 128) & 255];
  __syncthreads();
  tile[THREAD] = 1;
}

// --- global memory ----------------------------------------------------------------------------------------------------

__global__ void disjoint(const uint32_t* in, uint32_t* out) {
  out[GROUP * 256 + THREAD] = in[THREAD] + in[(THREAD * 7) & 255];
}
__global__ void halves_of_a_dword(uint16_t* out) {
  out[THREAD * 2 + GROUP] = GROUP;
}
__global__ void plain_add(uint32_t* out) {
  if (THREAD == 0) *out += GROUP + 1;
}
__global__ void atomic_add(uint32_t* out) {
  if (THREAD == 0) __hip_atomic_fetch_add(out, GROUP + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void same_value(uint32_t* out) { out[0] = 42; }
__global__ void histogram(const uint32_t* in, uint32_t* bins) {
  __hip_atomic_fetch_add(&bins[in[GROUP * 256 + THREAD] & 63], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void neighbours_in_place(uint32_t* data) {
  const uint32_t place = GROUP * 256 + THREAD;
  data[place] = data[place] + data[(place + 256) & 511];
}
__global__ void waves_without_barrier(uint32_t* data, uint32_t* out) {
  data[THREAD] = THREAD;
  out[THREAD] = data[(THREAD + 64) & 255];
}
__global__ void waves_with_barrier(uint32_t* data, uint32_t* out) {
  data[THREAD] = THREAD;
  __syncthreads();
  out[THREAD] = data[(THREAD + 64) & 255];
}

// Workgroup 1 hands 256 numbers to workgroup 0.
#define HAND_OVER(name, RELEASE, ACQUIRE)                     \
  __global__ void name(uint32_t* data, uint32_t* flag) {      \
    if (GROUP == 1) {                                         \
      data[THREAD] = THREAD + 1;                              \
      __syncthreads();                                        \
      if (THREAD < 64) {                                      \
        RELEASE;                                              \
        if (THREAD == 0) poke(flag, 1);                       \
      }                                                       \
    } else {                                                  \
      while (peek(flag) == 0) __builtin_amdgcn_s_sleep(1);    \
      ACQUIRE;                                                \
      data[256 + THREAD] = data[(THREAD + 64) & 255];         \
    }                                                         \
  }
HAND_OVER(hand_over, FENCE(__ATOMIC_RELEASE, "agent"), FENCE(__ATOMIC_ACQUIRE, "agent"))
HAND_OVER(no_release, FENCE(__ATOMIC_RELEASE, "workgroup"), FENCE(__ATOMIC_ACQUIRE, "agent"))
HAND_OVER(no_acquire, FENCE(__ATOMIC_RELEASE, "agent"), FENCE(__ATOMIC_ACQUIRE, "workgroup"))

// Every wave makes its own stores visible, a barrier collects them, one thread counts; the last workgroup reads all.
__global__ void last_workgroup(uint32_t* data, uint32_t* counter, uint32_t* out) {
  __shared__ uint32_t last;
  data[GROUP * 256 + THREAD] = GROUP + THREAD;
  __threadfence();
  __syncthreads();
  if (THREAD == 0)
    last = __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  uint32_t sum = 0;
  for (uint32_t i = 0; i < gridDim.x; ++i) sum += data[i * 256 + THREAD];
  out[THREAD] = sum;
}
// Split-K: workgroups add their part one after the other, in order of their numbers.
__global__ void split_k(uint32_t* sums, uint32_t* turn) {
  if (THREAD == 0)
    while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != GROUP) {}
  __syncthreads();
  sums[THREAD] = sums[THREAD] * 3 + GROUP + 1;
  __syncthreads();
  if (THREAD == 0) __hip_atomic_store(turn, GROUP + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// --- lanes ------------------------------------------------------------------------------------------------------------

__global__ void lanes_collide(uint32_t* out) { out[THREAD / 2] = THREAD; }
__global__ void lanes_agree(uint32_t* out) { out[THREAD / 2] = THREAD / 2; }
__global__ void lanes_collide_in_lds(uint32_t* out) {
  __shared__ uint32_t tile[64];
  tile[THREAD / 4] = THREAD;
  __syncthreads();
  out[THREAD] = tile[THREAD / 4];
}

// --- waiting ----------------------------------------------------------------------------------------------------------

__global__ void flag_that_nobody_sets(uint32_t* flag) {
  while (peek(flag) == 0) {}
}
__global__ void barrier_that_never_fills(uint32_t* flag) {
  if (THREAD < 64) __syncthreads();
  else while (peek(flag) == 0) __builtin_amdgcn_s_sleep(2);
  poke(flag, 1);
}
__global__ void spin_lock(uint32_t* lock) {
  uint32_t expected = 0;
  while (!__hip_atomic_compare_exchange_strong(lock, &expected, 1u, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __HIP_MEMORY_SCOPE_AGENT))
    expected = 0;
}
__global__ void loop_for_ever() {
  for (;;) __builtin_amdgcn_s_sleep(1);
}
__global__ void counts_for_ever(volatile uint32_t* out) {
  for (uint32_t n = 0;; ++n) out[THREAD] = n;
}
__global__ void meets_for_ever(volatile uint32_t* out) {
  for (uint32_t n = 0;; ++n) {
    out[THREAD] = n;
    bare_barrier();
  }
}
__global__ void leaves_before_the_barrier(uint32_t* out) {
  __shared__ uint32_t tile[256];
  tile[THREAD] = THREAD;
  if (THREAD >= 192) return;
  __syncthreads();
  out[THREAD] = tile[(THREAD + 64) % 192];
}
// Each workgroup waits for the one behind it, which begins later: all of them must be there at once.
__global__ void chain(uint32_t* flags) {
  if (GROUP + 1 < gridDim.x)
    while (peek(flags + GROUP + 1) == 0) {}
  poke(flags + GROUP, 1);
}
}
