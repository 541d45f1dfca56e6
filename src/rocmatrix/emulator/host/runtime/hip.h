// What the files of the HIP runtime share. Signatures and numbers follow the HIP API (hip_runtime_api.h of ROCm 7) and
// the calls that clang makes by itself (clang/lib/CodeGen/CGCUDANV.cpp).
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  kHipSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidHandle = 400,
  kNotFound = 500,
  kLaunchFailure = 719,
  kNotSupported = 801
};

typedef struct {
  uint32_t x, y, z;
} dim3;

typedef struct {
  // Executes a launch. `image` is the bundle or code object that holds the kernel; arguments come as a pointer to each
  // or, if `buffer` is not null, as the bytes themselves.
  int (*launch)(const void* image, const char* kernel, const dim3* grid, const dim3* block, void** arguments,
                const void* buffer, size_t buffer_bytes, size_t shared, void* stream);
  // Says whether an image has a kernel.
  int (*has_kernel)(const void* image, const char* kernel);
  // Gives device or (`host` not 0) pinned host memory.
  void* (*allocate)(size_t bytes, int host);
  int (*release)(void* memory);
  // Says whether bytes may be read or written by the runtime: 0, or the error.
  int (*touch)(const void* address, size_t bytes, const char* call);
  // Gives 0, 1 or 2 for what an address is: unknown, device, pinned host.
  int (*kind_of)(const void* address);
  // Records a call that is not emulated.
  void (*refuse)(const char* what);
  // Gives the error of work that failed on the device, or 0.
  int (*pending)(void);
} HipCallbacks;

// What differs between the products and partitions of a gfx942; clocks in kHz.
typedef struct {
  char name[256];
  int64_t memory;
  int32_t compute_units, clock, memory_clock, bus_width, integrated, version;
} Profile;

extern Profile rocmatrix_profile;

extern HipCallbacks rocmatrix_hip;

// Keeps an error for hipGetLastError and returns it.
int rocmatrix_hip_remember(int error);
