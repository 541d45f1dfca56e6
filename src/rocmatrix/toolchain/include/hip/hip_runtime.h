// The HIP language, as far as the toolchain `llvm` declares it; see hip_runtime_api.h for what this is and is not.
//
// threadIdx and blockIdx are the hardware's own registers. blockDim and gridDim come from the hidden arguments that the
// HIP runtime appends to a kernel's own (code object versions 5 and 6: hidden_block_count_{x,y,z} are 32-bit words at
// bytes 0, 4, 8 of the implicit arguments, hidden_group_size_{x,y,z} 16-bit words at bytes 12, 14, 16; AMDGPUUsage,
// "Code Object V5 Kernel Argument Metadata"). A kernel that uses neither has no hidden arguments at all.
#pragma once

#include <hip/hip_runtime_api.h>

#ifdef __HIP__

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
// __noinline__ is a keyword of clang in HIP.
#define __forceinline__ inline __attribute__((always_inline))

// __launch_bounds__(threads) and __launch_bounds__(threads, waves per SIMD), as in HIP.
#define __launch_bounds__(...) \
  ROCMATRIX_HIP_PICK(__VA_ARGS__, ROCMATRIX_HIP_BOUNDS_2, ROCMATRIX_HIP_BOUNDS_1, )(__VA_ARGS__)
#define ROCMATRIX_HIP_PICK(first, second, picked, ...) picked
#define ROCMATRIX_HIP_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define ROCMATRIX_HIP_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_memory, stream, ...) \
  kernel<<<(grid), (block), (shared_memory), (stream)>>>(__VA_ARGS__)

// One of threadIdx, blockIdx, blockDim, gridDim: reading .x, .y or .z evaluates an expression on the device.
#define ROCMATRIX_HIP_INDEX(name, x_value, y_value, z_value)                                                    \
  struct rocmatrix_hip_##name {                                                                                 \
    __device__ static uint32_t get_x() { return x_value; }                                                      \
    __device__ static uint32_t get_y() { return y_value; }                                                      \
    __device__ static uint32_t get_z() { return z_value; }                                                      \
    __declspec(property(get = get_x)) uint32_t x;                                                               \
    __declspec(property(get = get_y)) uint32_t y;                                                               \
    __declspec(property(get = get_z)) uint32_t z;                                                               \
    __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }                                \
  };                                                                                                            \
  extern const __device__ __attribute__((weak)) rocmatrix_hip_##name name;

#define ROCMATRIX_HIP_HIDDEN(type, byte)                                                                        \
  (*(const __attribute__((address_space(4))) type*)((const __attribute__((address_space(4))) char*)             \
                                                        __builtin_amdgcn_implicitarg_ptr() + (byte)))

ROCMATRIX_HIP_INDEX(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                    __builtin_amdgcn_workitem_id_z())
ROCMATRIX_HIP_INDEX(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                    __builtin_amdgcn_workgroup_id_z())
ROCMATRIX_HIP_INDEX(gridDim, ROCMATRIX_HIP_HIDDEN(uint32_t, 0), ROCMATRIX_HIP_HIDDEN(uint32_t, 4),
                    ROCMATRIX_HIP_HIDDEN(uint32_t, 8))
ROCMATRIX_HIP_INDEX(blockDim, ROCMATRIX_HIP_HIDDEN(uint16_t, 12), ROCMATRIX_HIP_HIDDEN(uint16_t, 14),
                    ROCMATRIX_HIP_HIDDEN(uint16_t, 16))

// Lanes in a wavefront: 64 on gfx9, what the target is compiled for elsewhere. Not a constant expression, as in HIP 7.
struct rocmatrix_hip_warpSize {
  __device__ operator int() const { return __builtin_amdgcn_wavefrontsize(); }
};
extern const __device__ __attribute__((weak)) rocmatrix_hip_warpSize warpSize;

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline __device__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

#endif  // __HIP__
