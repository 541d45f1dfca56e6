// A HIP runtime without a GPU: it registers what a library brings, hands every launch to a callback, and computes nothing.
//
// The tests build it under the SONAME that the ROCm of a variant has, and load the shipped binary against it. Signatures
// follow the HIP API and clang's registration calls (clang/lib/CodeGen/CGCUDANV.cpp).

#include <stdint.h>
#include <string.h>

typedef struct {
  uint32_t x, y, z;
} dim3;

// What clang emits for a fat binary: magic "HIPF", version 1, pointer to the offload bundle.
typedef struct {
  uint32_t magic;
  uint32_t version;
  const void* bundle;
  const void* unused;
} FatBinary;

typedef struct {
  const void* host;
  const char* name;
} Function;

typedef struct {
  dim3 grid, block;
  size_t shared;
  void* stream;
} Configuration;

// Returns the hipError_t of the launch.
typedef int (*OnLaunch)(const char* name, const dim3* grid, const dim3* block, void** arguments, size_t shared,
                        void* stream);

enum { kMaxBinaries = 16, kMaxFunctions = 256, kMaxNesting = 8 };
enum { kSuccess = 0, kInvalidValue = 1, kInvalidDeviceFunction = 98, kInvalidDevice = 101, kLaunchFailure = 719 };

static FatBinary binaries[kMaxBinaries];
static int binary_count;
static Function functions[kMaxFunctions];
static int function_count;
static OnLaunch on_launch;
static _Thread_local Configuration configurations[kMaxNesting];
static _Thread_local int configuration_count;
static _Thread_local int last_error;

static int remember(int error) {
  if (error != kSuccess) last_error = error;
  return error;
}

// -- for the tests ---------------------------------------------------------------------------------------------------

void hip_stub_set_on_launch(OnLaunch callback) { on_launch = callback; }
int hip_stub_binary_count(void) { return binary_count; }
const void* hip_stub_bundle(int index) { return binaries[index].bundle; }

// -- what the compiler calls -----------------------------------------------------------------------------------------

void** __hipRegisterFatBinary(const void* wrapper) {
  static void* handles[kMaxBinaries];
  if (binary_count == kMaxBinaries) return 0;
  memcpy(&binaries[binary_count], wrapper, sizeof(FatBinary));
  return &handles[binary_count++];
}

void __hipUnregisterFatBinary(void** handle) { (void)handle; }

void __hipRegisterFunction(void** handle, const void* host, char* device, const char* name, unsigned int limit,
                           void* thread, void* block_id, dim3* block, dim3* grid, int* wavefront) {
  (void)handle, (void)device, (void)limit, (void)thread, (void)block_id, (void)block, (void)grid, (void)wavefront;
  if (function_count < kMaxFunctions) functions[function_count++] = (Function){host, name};
}

int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  if (configuration_count == kMaxNesting) return remember(kInvalidValue);
  configurations[configuration_count++] = (Configuration){grid, block, shared, stream};
  return kSuccess;
}

int __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void** stream) {
  if (configuration_count == 0) return remember(kInvalidValue);
  const Configuration top = configurations[--configuration_count];
  *grid = top.grid, *block = top.block, *shared = top.shared, *stream = top.stream;
  return kSuccess;
}

// -- the API ---------------------------------------------------------------------------------------------------------

int hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, void* stream) {
  for (int i = 0; i < function_count; ++i) {
    if (functions[i].host != function) continue;
    return remember(on_launch ? on_launch(functions[i].name, &grid, &block, arguments, shared, stream) : kSuccess);
  }
  return remember(kInvalidDeviceFunction);
}

int hipGetLastError(void) {
  const int error = last_error;
  last_error = kSuccess;
  return error;
}

int hipPeekAtLastError(void) { return last_error; }

const char* hipGetErrorName(int error) {
  switch (error) {
    case kSuccess: return "hipSuccess";
    case kInvalidValue: return "hipErrorInvalidValue";
    case kInvalidDeviceFunction: return "hipErrorInvalidDeviceFunction";
    case kLaunchFailure: return "hipErrorLaunchFailure";
    default: return "hipErrorUnknown";
  }
}

const char* hipGetErrorString(int error) {
  switch (error) {
    case kSuccess: return "no error";
    case kInvalidValue: return "invalid argument";
    case kInvalidDeviceFunction: return "invalid device function";
    case kLaunchFailure: return "unspecified launch failure";
    default: return "unknown error";
  }
}

int hipGetDevice(int* device) { return *device = 0, kSuccess; }
int hipSetDevice(int device) { return remember(device == 0 ? kSuccess : kInvalidDevice); }
int hipGetDeviceCount(int* count) { return *count = 1, kSuccess; }
int hipDeviceSynchronize(void) { return kSuccess; }
int hipStreamSynchronize(void* stream) { return (void)stream, kSuccess; }

int hipMemsetAsync(void* memory, int value, size_t bytes, void* stream) {
  (void)stream;
  memset(memory, value, bytes);
  return kSuccess;
}
