// Memory, streams, events and errors. All work is done when it is queued, so that every stream is idle.

#include "hip.h"
#include "libc.h"

HipCallbacks rocmatrix_hip;

void rocmatrix_hip_set(const HipCallbacks* callbacks) { rocmatrix_hip = *callbacks; }

static _Thread_local int last_error;

int rocmatrix_hip_remember(int error) {
  if (error != kHipSuccess) last_error = error;
  return error;
}
#define remember rocmatrix_hip_remember

static int settled(void) { return remember(rocmatrix_hip.pending()); }

// -- memory ----------------------------------------------------------------------------------------------------------

static int allocate(void** memory, size_t bytes, int host) {
  if (memory == NULL) return remember(kInvalidValue);
  *memory = bytes ? rocmatrix_hip.allocate(bytes, host) : NULL;
  return *memory || bytes == 0 ? kHipSuccess : remember(kOutOfMemory);
}
static int release(void* memory) { return memory ? remember(rocmatrix_hip.release(memory)) : kHipSuccess; }

int hipMalloc(void** memory, size_t bytes) { return allocate(memory, bytes, 0); }
int hipMallocAsync(void** memory, size_t bytes, void* stream) { return (void)stream, allocate(memory, bytes, 0); }
int hipFree(void* memory) { return release(memory); }
int hipFreeAsync(void* memory, void* stream) { return (void)stream, release(memory); }
int hipHostMalloc(void** memory, size_t bytes, unsigned flags) { return (void)flags, allocate(memory, bytes, 1); }
int hipHostFree(void* memory) { return release(memory); }

static int copy(void* to, const void* from, size_t bytes, const char* call) {
  int error = rocmatrix_hip.touch(to, bytes, call);
  if (error == kHipSuccess) error = rocmatrix_hip.touch(from, bytes, call);
  if (error == kHipSuccess) memmove(to, from, bytes);
  return remember(error);
}

int hipMemcpy(void* to, const void* from, size_t bytes, int kind) { return (void)kind, copy(to, from, bytes, "hipMemcpy"); }
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  return (void)kind, (void)stream, copy(to, from, bytes, "hipMemcpyAsync");
}
int hipMemcpyWithStream(void* to, const void* from, size_t bytes, int kind, void* stream) {
  return (void)kind, (void)stream, copy(to, from, bytes, "hipMemcpyWithStream");
}
int hipMemcpyHtoD(void* to, void* from, size_t bytes) { return copy(to, from, bytes, "hipMemcpyHtoD"); }
int hipMemcpyDtoH(void* to, void* from, size_t bytes) { return copy(to, from, bytes, "hipMemcpyDtoH"); }
int hipMemcpyDtoD(void* to, void* from, size_t bytes) { return copy(to, from, bytes, "hipMemcpyDtoD"); }
int hipMemcpyHtoDAsync(void* to, const void* from, size_t bytes, void* stream) {
  return (void)stream, copy(to, from, bytes, "hipMemcpyHtoDAsync");
}
int hipMemcpyDtoHAsync(void* to, void* from, size_t bytes, void* stream) {
  return (void)stream, copy(to, from, bytes, "hipMemcpyDtoHAsync");
}
int hipMemcpyDtoDAsync(void* to, void* from, size_t bytes, void* stream) {
  return (void)stream, copy(to, from, bytes, "hipMemcpyDtoDAsync");
}

static int fill(void* memory, uint32_t value, size_t width, size_t count, const char* call) {
  const int error = rocmatrix_hip.touch(memory, width * count, call);
  if (error != kHipSuccess) return remember(error);
  for (size_t i = 0; i < count; ++i) memcpy((char*)memory + i * width, &value, width);
  return kHipSuccess;
}

int hipMemset(void* memory, int value, size_t bytes) { return fill(memory, (uint32_t)value, 1, bytes, "hipMemset"); }
int hipMemsetAsync(void* memory, int value, size_t bytes, void* stream) {
  return (void)stream, fill(memory, (uint32_t)value, 1, bytes, "hipMemsetAsync");
}
int hipMemsetD8(void* memory, unsigned char value, size_t count) { return fill(memory, value, 1, count, "hipMemsetD8"); }
int hipMemsetD16(void* memory, unsigned short value, size_t count) {
  return fill(memory, value, 2, count, "hipMemsetD16");
}
int hipMemsetD32(void* memory, int value, size_t count) {
  return fill(memory, (uint32_t)value, 4, count, "hipMemsetD32");
}
int hipMemsetD8Async(void* memory, unsigned char value, size_t count, void* stream) {
  return (void)stream, fill(memory, value, 1, count, "hipMemsetD8Async");
}
int hipMemsetD16Async(void* memory, unsigned short value, size_t count, void* stream) {
  return (void)stream, fill(memory, value, 2, count, "hipMemsetD16Async");
}
int hipMemsetD32Async(void* memory, int value, size_t count, void* stream) {
  return (void)stream, fill(memory, (uint32_t)value, 4, count, "hipMemsetD32Async");
}

typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  int managed;
  unsigned flags;
} PointerAttributes;

int hipPointerGetAttributes(PointerAttributes* attributes, const void* address) {
  const int kind = rocmatrix_hip.kind_of(address);
  if (kind == 0) return remember(kInvalidValue);
  *attributes = (PointerAttributes){kind == 1 ? 2 : 1, 0, (void*)address, kind == 1 ? NULL : (void*)address, 0, 0};
  return kHipSuccess;
}

// -- streams and events ----------------------------------------------------------------------------------------------

static int made(void** handle) { return *handle = calloc(1, 16), kHipSuccess; }
static int gone(void* handle) { return handle ? (free(handle), kHipSuccess) : remember(kInvalidHandle); }

int hipStreamCreate(void** stream) { return made(stream); }
int hipStreamCreateWithFlags(void** stream, unsigned flags) { return (void)flags, made(stream); }
int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return (void)flags, (void)priority, made(stream);
}
int hipStreamDestroy(void* stream) { return gone(stream); }
int hipStreamSynchronize(void* stream) { return (void)stream, settled(); }
int hipStreamQuery(void* stream) { return (void)stream, settled(); }
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return (void)stream, (void)event, (void)flags, kHipSuccess;
}
int hipStreamIsCapturing(void* stream, int* status) { return (void)stream, *status = 0, kHipSuccess; }
int hipEventCreate(void** event) { return made(event); }
int hipEventCreateWithFlags(void** event, unsigned flags) { return (void)flags, made(event); }
int hipEventDestroy(void* event) { return gone(event); }
int hipEventRecord(void* event, void* stream) { return (void)stream, event ? kHipSuccess : remember(kInvalidHandle); }
int hipEventSynchronize(void* event) { return (void)event, settled(); }
int hipEventQuery(void* event) { return (void)event, settled(); }
int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
  (void)milliseconds, (void)start, (void)stop;
  rocmatrix_hip.refuse("hipEventElapsedTime: an emulated launch takes no time");
  return remember(kNotSupported);
}

// -- errors ----------------------------------------------------------------------------------------------------------

int hipGetLastError(void) {
  const int error = last_error;
  last_error = kHipSuccess;
  return error;
}
int hipPeekAtLastError(void) { return last_error; }

typedef struct {
  int number;
  const char *name, *text;
} Error;

// hipGetErrorString of ROCm (clr/hipamd/src/hip_error.cpp).
static const Error errors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "device not ready"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {801, "hipErrorNotSupported", "operation not supported"},
};
static const Error unknown = {999, "hipErrorUnknown", "unknown error"};

static const Error* find(int number) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); ++i) {
    if (errors[i].number == number) return &errors[i];
  }
  return &unknown;
}

const char* hipGetErrorName(int error) { return find(error)->name; }
const char* hipGetErrorString(int error) { return find(error)->text; }
