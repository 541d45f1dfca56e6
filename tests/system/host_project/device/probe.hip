#include "probe.h"

#include <hip/hip_runtime.h>

namespace {

constexpr int kThreads = 64;

__device__ int place() { return static_cast<int>(blockIdx.x * kThreads + threadIdx.x); }

__global__ void __launch_bounds__(64) scale(const float* x, float* out, int n, float factor) {
  if (place() < n) out[place()] = x[place()] * factor;
}

__global__ void __launch_bounds__(64) shift(const int64_t* x, int64_t* out, int n, int64_t by, bool flip) {
  const int64_t value = place() < n ? x[place()] + by : 0;
  if (place() < n) out[place()] = flip ? -value : value;
}

__global__ void __launch_bounds__(64) overrun(const float* x, float* out, int n) {
  if (place() <= n) out[place()] = place() < n ? x[place()] : 0.0f;
}

__global__ void __launch_bounds__(64) spoil(float* x, float* out, int n) {
  if (place() < n) out[place()] = x[place()];
  if (place() == 0) x[0] = 0.0f;
}

__global__ void __launch_bounds__(64) number(float* out) {
  extern __shared__ float lds[];
  const unsigned int group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  lds[63 - threadIdx.x] = static_cast<float>(group);
  __syncthreads();
  out[group * 64 + threadIdx.x] = lds[threadIdx.x];
}

__global__ void __launch_bounds__(64) last(float* out) {
  const float mine = 1.0f + 0x1p-23f * static_cast<float>(blockIdx.x);
  if (threadIdx.x == 0) __hip_atomic_exchange(out, mine, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

__global__ void __launch_bounds__(64) root(const float* x, float* out, int n) {
  if (place() < n) out[place()] = __builtin_amdgcn_rsqf(__builtin_fabsf(x[place()]));
}

dim3 groups(int n) { return dim3(static_cast<unsigned int>((n + kThreads - 1) / kThreads)); }
hipStream_t on(void* stream) { return static_cast<hipStream_t>(stream); }

}  // namespace

int launch_scale(const float* x, float* out, int n, float factor, void* stream) {
  scale<<<groups(n), kThreads, 0, on(stream)>>>(x, out, n, factor);
  return hipGetLastError();
}

int launch_shift(const int64_t* x, int64_t* out, int n, int64_t by, bool flip, void* stream) {
  shift<<<groups(n), kThreads, 0, on(stream)>>>(x, out, n, by, flip);
  return hipGetLastError();
}

int launch_overrun(const float* x, float* out, int n, void* stream) {
  overrun<<<groups(n + 1), kThreads, 0, on(stream)>>>(x, out, n);
  return hipGetLastError();
}

int launch_spoil(float* x, float* out, int n, void* stream) {
  spoil<<<groups(n), kThreads, 0, on(stream)>>>(x, out, n);
  return hipGetLastError();
}

int launch_number(float* out, Extent grid, unsigned int threads, unsigned int lds, void* stream) {
  number<<<dim3(grid.x, grid.y, grid.z), threads, lds, on(stream)>>>(out);
  return hipGetLastError();
}

void launch_last(float* out, void* stream) { last<<<8, kThreads, 0, on(stream)>>>(out); }

void launch_root(const float* x, float* out, int n, void* stream) {
  root<<<groups(n), kThreads, 0, on(stream)>>>(x, out, n);
}

const char* error_text(int error) { return hipGetErrorString(static_cast<hipError_t>(error)); }
