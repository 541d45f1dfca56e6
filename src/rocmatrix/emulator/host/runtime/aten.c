// Functions of the shim that are operators with a signature of their own: they become a call of the dispatcher.

#include "host.h"
#include "libc.h"

int32_t torch_call_dispatcher(const char* name, const char* overload, IValue* stack, uint64_t version);
int32_t torch_new_list_reserve_size(size_t size, List** made);
int32_t torch_list_push_back(List* self, IValue item);
int32_t aoti_torch_new_tensor_handle(Tensor* self, Tensor** made);
int32_t aoti_torch_delete_tensor_object(Tensor* self);

static IValue tensor(Tensor* self) {
  Tensor* copy = NULL;
  aoti_torch_new_tensor_handle(self, &copy);
  return (IValue)(uintptr_t)copy;
}

static IValue number(double value) {
  IValue bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static IValue optional(const int32_t* value) {
  if (value == NULL) return 0;
  IValue* made = malloc(sizeof(IValue));
  *made = (IValue)(uint32_t)*value;
  return (IValue)(uintptr_t)made;
}

// The device is one value: its type in the upper half, its index in the lower one.
static IValue optional_device(const int32_t* type, int32_t index) {
  if (type == NULL) return 0;
  IValue* made = malloc(sizeof(IValue));
  *made = (IValue)(uint32_t)*type << 32 | (uint32_t)index;
  return (IValue)(uintptr_t)made;
}

static IValue list(const int64_t* items, int64_t count) {
  List* made = NULL;
  torch_new_list_reserve_size((size_t)count, &made);
  for (int64_t i = 0; i < count; ++i) torch_list_push_back(made, (IValue)items[i]);
  return (IValue)(uintptr_t)made;
}

// Calls an operator that returns one tensor, for whoever wants it.
static int32_t call(const char* name, const char* overload, IValue* stack, Tensor** result) {
  if (torch_call_dispatcher(name, overload, stack, 0)) return kFailure;
  Tensor* made = (Tensor*)(uintptr_t)stack[0];
  if (result) return *result = made, kSuccess;
  return aoti_torch_delete_tensor_object(made);
}

int32_t aoti_torch_aten_fill__Scalar(Tensor* self, double value) {
  IValue stack[] = {tensor(self), number(value)};
  return call("aten::fill_", "Scalar", stack, NULL);
}

int32_t aoti_torch_aten_narrow(Tensor* self, int64_t axis, int64_t start, int64_t length, Tensor** result) {
  IValue stack[] = {tensor(self), (IValue)axis, (IValue)start, (IValue)length};
  return call("aten::narrow", "", stack, result);
}

int32_t aoti_torch_aten_new_empty(Tensor* self, const int64_t* sizes, int64_t count, int32_t* dtype, int32_t* layout,
                                  int32_t* device_type, int32_t device_index, int32_t* pin, Tensor** result) {
  IValue stack[] = {tensor(self),     list(sizes, count), optional(dtype),
                    optional(layout), optional_device(device_type, device_index), optional(pin)};
  return call("aten::new_empty", "", stack, result);
}

int32_t aoti_torch_aten_new_zeros(Tensor* self, const int64_t* sizes, int64_t count, int32_t* dtype, int32_t* layout,
                                  int32_t* device_type, int32_t device_index, int32_t* pin, Tensor** result) {
  IValue stack[] = {tensor(self),     list(sizes, count), optional(dtype),
                    optional(layout), optional_device(device_type, device_index), optional(pin)};
  return call("aten::new_zeros", "", stack, result);
}

int32_t aoti_torch_aten_full(const int64_t* sizes, int64_t count, double value, int32_t* dtype, int32_t* layout,
                             int32_t* device_type, int32_t device_index, int32_t* pin, Tensor** result) {
  IValue stack[] = {list(sizes, count), number(value),  optional(dtype),
                    optional(layout),   optional_device(device_type, device_index), optional(pin)};
  return call("aten::full", "", stack, result);
}

int32_t aoti_torch_zero_(Tensor* self) {
  IValue stack[] = {tensor(self)};
  return call("aten::zero_", "", stack, NULL);
}

int32_t aoti_torch_clone(Tensor* self, Tensor** result) {
  IValue stack[] = {tensor(self), 0};
  return call("aten::clone", "", stack, result);
}

int32_t aoti_torch_copy_(Tensor* self, Tensor* source, int32_t non_blocking) {
  IValue stack[] = {tensor(self), tensor(source), non_blocking != 0};
  return call("aten::copy_", "", stack, NULL);
}

int32_t aoti_torch_tensor_copy_(Tensor* source, Tensor* self) { return aoti_torch_copy_(self, source, 0); }

int32_t aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t bytes, void** memory) {
  *memory = rocmatrix_callbacks.allocate((int64_t)bytes, 1, rocmatrix_callbacks.current_device());
  return *memory || bytes == 0 ? kSuccess : rocmatrix_refuse("more memory than the emulated device has");
}
int32_t aoti_torch_cuda_caching_allocator_raw_delete(void* memory) {
  return rocmatrix_callbacks.release(memory), kSuccess;
}
