// Kernels that read what nothing wrote, each in one way, and kernels that look like it and are right.
#include <hip/hip_runtime.h>

#define LANE (__builtin_amdgcn_workitem_id_x())
// A register that nothing has written: an optimiser would make anything of an uninitialised variable.
#define NOTHING_VECTOR(x) asm volatile("; nothing writes %0" : "={v77}"(x))
#define NOTHING_SCALAR(x) asm volatile("; nothing writes %0" : "={s77}"(x))
// What an optimiser does not turn into a choice between two values.
#define BRANCH __builtin_amdgcn_s_sleep(1)

extern "C" {

__global__ void lds_element_missing(const int* in, int* out) {
  __shared__ int tile[64];
  if (LANE != 5) tile[LANE] = in[LANE];
  __syncthreads();
  out[LANE] = tile[63 - LANE];
}

__global__ void lds_decides(const int* in, int* out) {
  __shared__ int tile[64];
  if (LANE != 5) tile[LANE] = in[LANE];
  __syncthreads();
  out[LANE] = 2;
  if (tile[63 - LANE] > 3) BRANCH, out[LANE] = 1;
}

__global__ void tail_missing(const int* in, int* out, int n) {
  __shared__ int tile[64];
  if (LANE < n) tile[LANE] = in[LANE];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += tile[i];
  out[LANE] = sum;
}

__global__ void scratch_missing(const int* in, int* out) {
  volatile int local[16];
  for (int i = 0; i < 15; ++i) local[i] = in[i];
  out[LANE] = local[LANE & 15];
}

__global__ void output_missing(const int* in, int* out, int n) {
  if (LANE < n) out[LANE] = in[LANE];
}

__global__ void address(const int* in, int* out) {
  int x;
  NOTHING_VECTOR(x);
  out[LANE] = 0;
  out[x & 63] = in[LANE];
}

__global__ void scalar_branch(const int* in, int* out) {
  int x;
  NOTHING_SCALAR(x);
  if (x > 3) BRANCH;
  out[LANE] = in[LANE];
}

__global__ void vector_branch(const int* in, int* out) {
  int x;
  NOTHING_VECTOR(x);
  out[LANE] = in[LANE];
  if (x > in[LANE]) BRANCH, out[LANE] = 7;
}

__global__ void value(const int* in, int* out) {
  int x;
  NOTHING_VECTOR(x);
  out[LANE] = in[LANE] + x;
}

__global__ void lane_selector(const int* in, int* out) {
  int x;
  NOTHING_SCALAR(x);
  out[LANE] = __builtin_amdgcn_readlane(in[LANE], x);
}

// `work` is memory that nobody filled
__global__ void fresh_index(const int* work, int* out) {
  out[LANE] = 0;
  out[work[LANE] & 63] = 1;
}
__global__ void fresh_sum(const int* work, int* out) { out[LANE] = work[LANE] + 1; }
__global__ void fresh_atomic(int* work, int* out) {
  __hip_atomic_fetch_add(work, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[LANE] = 1;
}

// --- right ------------------------------------------------------------------------------------------------------------

// Copies a record with padding through registers and scratch: the padding is never written, and never matters.
struct Record { char kind; int number; short half; };
__global__ void copies_padding(const int* in, Record* out) {
  Record mine;
  mine.kind = 1;
  mine.number = in[LANE];
  mine.half = 3;
  Record all[2] = {mine, mine};
  out[LANE] = all[in[LANE] & 1];
}

__global__ void reads_padding(const Record* records, int* out) {
  const Record one = records[LANE];
  out[LANE] = one.kind + one.number + one.half;
}

// Lanes beyond n compute with what they never loaded, and store nothing.
__global__ void masked_tail(const float* in, float* out, int n) {
  float x;
  NOTHING_VECTOR(x);
  if (LANE < n) x = in[LANE];
  const float y = x * x + 1.0f;
  if (LANE < n) out[LANE] = y;
}

__global__ void mirrors(const int* in, int* out) {
  __shared__ int tile[80];
  tile[LANE] = in[LANE] * 3;
  __syncthreads();
  out[LANE] = tile[63 - LANE];
}

// A workspace that one launch fills and the next reads.
__global__ void fills(const int* in, int* work) { work[LANE] = in[LANE]; }

__global__ void halves(const _Float16* in, _Float16* out) {
  typedef _Float16 h2 __attribute__((ext_vector_type(2)));
  h2 pair;
  pair.x = in[2 * LANE];
  pair.x += (_Float16)1;
  out[LANE] = pair.x;
}
}
