// What the files of the stand-ins share. Signatures follow torch's stable C shim (torch/csrc/inductor/aoti_torch/c/shim.h
// and torch/csrc/stable/c/shim.h of torch 2.13); handles are pointers to the objects below.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kSuccess = 0, kFailure = 1 };
enum { kMaxDimensions = 64 };

typedef uint64_t IValue;
typedef void (*BoxedFunction)(IValue* stack, uint64_t inputs, uint64_t outputs);

// Memory that tensors share. `data` may be null when `size` is 0.
typedef struct Storage {
  uint8_t* data;
  int64_t size;
  int64_t owners;
  int32_t device_type, device_index;
  bool borrowed;  // from_blob: somebody else's memory
  void (*deleter)(void* data, void* context);
  void* context;
} Storage;

typedef struct Tensor {
  Storage* storage;  // null: undefined tensor
  int64_t offset;    // in elements
  int32_t dtype;
  int64_t dimensions;
  int64_t sizes[kMaxDimensions], strides[kMaxDimensions];
} Tensor;

typedef struct List {
  size_t size, capacity;
  IValue* items;
} List;

typedef struct Callbacks {
  // Gives memory on a device, poisoned; null where there is none.
  void* (*allocate)(int64_t bytes, int32_t device_type, int32_t device_index);
  void (*release)(void* data);
  // Runs an operator of torch itself on a stack, as the dispatcher would.
  int32_t (*dispatch)(const char* name, const char* overload, IValue* stack, uint64_t version);
  // Takes a definition (`boxed` null, `text` the schema, `key` null) or an implementation (`text` the operator's name).
  void (*registered)(const char* ns, const char* key, const char* text, BoxedFunction boxed);
  // Takes what was asked for and is not there; whoever called sees a failure, whatever the extension makes of it.
  void (*refuse)(const char* what);
  // Gives the current device and its current stream.
  int32_t (*current_device)(void);
  void* (*current_stream)(int32_t device_index);
  int32_t (*set_device)(int32_t device_index);
} Callbacks;

extern Callbacks rocmatrix_callbacks;

// Records a refusal and returns kFailure.
int32_t rocmatrix_refuse(const char* what);

size_t aoti_torch_dtype_element_size(int32_t dtype);

// Returns a tensor on new memory, or null after a refusal.
Tensor* rocmatrix_tensor_new(int64_t dimensions, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                             int32_t device_type, int32_t device_index);
// Returns another tensor on the same storage.
Tensor* rocmatrix_tensor_view(const Tensor* self, int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                              int64_t offset);
Tensor* rocmatrix_tensor_wrap(void* data, int64_t bytes, int64_t dimensions, const int64_t* sizes,
                              const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type,
                              int32_t device_index);
