// Registration and launches.

#include "hip.h"
#include "libc.h"

// What clang emits for a fat binary: magic "HIPF", version 1, pointer to the offload bundle.
typedef struct {
  uint32_t magic, version;
  const void* bundle;
  const void* unused;
} FatBinary;

typedef struct Function {
  const void* host;
  char* name;
  const void* image;
  struct Function* next;
} Function;

typedef struct {
  dim3 grid, block;
  size_t shared;
  void* stream;
} Configuration;

enum { kMaxNesting = 64 };

static Function* functions;
static _Thread_local Configuration configurations[kMaxNesting];
static _Thread_local int configuration_count;

static Function* function_new(const void* host, const char* name, const void* image) {
  Function* made = calloc(1, sizeof(Function));
  made->host = host;
  made->name = strdup(name);
  made->image = image;
  return made;
}

// -- what the compiler calls -----------------------------------------------------------------------------------------

void** __hipRegisterFatBinary(const void* wrapper) {
  const void** handle = malloc(sizeof(void*));
  *handle = ((const FatBinary*)wrapper)->bundle;
  return (void**)handle;
}

// Functions stay registered: the process ends with the library.
void __hipUnregisterFatBinary(void** handle) { (void)handle; }

void __hipRegisterFunction(void** handle, const void* host, char* device, const char* name, unsigned int limit,
                           void* thread, void* block_id, dim3* block, dim3* grid, int* wavefront) {
  (void)device, (void)limit, (void)thread, (void)block_id, (void)block, (void)grid, (void)wavefront;
  Function* made = function_new(host, name, *handle);
  made->next = functions;
  functions = made;
}

// Device variables are in the code object; only the calls that copy to them by name need this, and none is emulated.
void __hipRegisterVar(void** handle, void* host, char* device, const char* name, int external, size_t size,
                      int constant, int global) {
  (void)handle, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant, (void)global;
}

void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, size_t size,
                             unsigned align) {
  (void)handle, (void)pointer, (void)initial, (void)size, (void)align;
  rocmatrix_hip.refuse(name);
  rocmatrix_hip.refuse("__hipRegisterManagedVar: managed variables");
}

int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  if (configuration_count == kMaxNesting) return rocmatrix_hip_remember(kInvalidValue);
  configurations[configuration_count++] = (Configuration){grid, block, shared, stream};
  return kHipSuccess;
}

int __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void** stream) {
  if (configuration_count == 0) return rocmatrix_hip_remember(kInvalidValue);
  const Configuration top = configurations[--configuration_count];
  *grid = top.grid, *block = top.block, *shared = top.shared, *stream = top.stream;
  return kHipSuccess;
}

// -- launches --------------------------------------------------------------------------------------------------------

int hipLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared, void* stream) {
  for (const Function* item = functions; item; item = item->next) {
    if (item->host != host) continue;
    return rocmatrix_hip_remember(
        rocmatrix_hip.launch(item->image, item->name, &grid, &block, arguments, NULL, 0, shared, stream));
  }
  return rocmatrix_hip_remember(kInvalidDeviceFunction);
}

int hipModuleLoadData(void** module, const void* image) {
  *module = (void*)image;
  return kHipSuccess;
}
int hipModuleLoadDataEx(void** module, const void* image, unsigned count, void* options, void** values) {
  return (void)count, (void)options, (void)values, hipModuleLoadData(module, image);
}
int hipModuleUnload(void* module) { return (void)module, kHipSuccess; }

int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (!rocmatrix_hip.has_kernel(module, name)) return rocmatrix_hip_remember(kNotFound);
  *function = function_new(NULL, name, module);
  return kHipSuccess;
}

// HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
static int buffer_of(void** extra, const void** buffer, size_t* bytes) {
  for (; *extra != (void*)3; extra += 2) {
    if (*extra == (void*)1) {
      *buffer = extra[1];
    } else if (*extra == (void*)2) {
      *bytes = *(const size_t*)extra[1];
    } else {
      return kInvalidValue;
    }
  }
  return *buffer ? kHipSuccess : kInvalidValue;
}

int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments,
                          void** extra) {
  const Function* item = function;
  const dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
  const void* buffer = NULL;
  size_t bytes = 0;
  if (item == NULL) return rocmatrix_hip_remember(kInvalidHandle);
  if (extra && buffer_of(extra, &buffer, &bytes)) return rocmatrix_hip_remember(kInvalidValue);
  return rocmatrix_hip_remember(
      rocmatrix_hip.launch(item->image, item->name, &grid, &block, arguments, buffer, bytes, shared, stream));
}

// Limits that a launcher raises: the launch itself checks what a kernel may have.
int hipFuncSetAttribute(const void* host, int attribute, int value) { return (void)host, (void)attribute, (void)value, kHipSuccess; }
int hipFuncSetCacheConfig(const void* host, int config) { return (void)host, (void)config, kHipSuccess; }
