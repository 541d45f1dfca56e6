// The host half of HIP, as far as the toolchain `llvm` declares it: errors, devices, streams, memory and launches.
//
// Written for rocmatrix; it replaces AMD's header of the same name where a kernel is cross-compiled without ROCm. Names,
// values and signatures follow the HIP API, whose binary interface libamdhip64.so keeps; only calls whose signature is
// the same in ROCm 6 and 7 are here. A call that is missing is a compile error, never a guess.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ROCMATRIX_HIP_DEFAULT(value) = value
#else
#define ROCMATRIX_HIP_DEFAULT(value)
#endif

typedef enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorNoBinaryForGpu = 209,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999
} hipError_t;

typedef struct ihipStream_t* hipStream_t;

typedef struct dim3 {
  uint32_t x, y, z;
#ifdef __cplusplus
#ifdef __HIP__
  __attribute__((host)) __attribute__((device))
#endif
  constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
#endif
} dim3;

#ifdef __cplusplus
extern "C" {
#endif

hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);

hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipDeviceSynchronize(void);
hipError_t hipStreamSynchronize(hipStream_t stream);

hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream ROCMATRIX_HIP_DEFAULT(0));

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                           size_t shared_memory ROCMATRIX_HIP_DEFAULT(0), hipStream_t stream ROCMATRIX_HIP_DEFAULT(0));

// What clang calls for `kernel<<<grid, block, shared memory, stream>>>(...)`.
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory ROCMATRIX_HIP_DEFAULT(0),
                                      hipStream_t stream ROCMATRIX_HIP_DEFAULT(0));
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_memory, hipStream_t* stream);

#ifdef __cplusplus
}
#endif
