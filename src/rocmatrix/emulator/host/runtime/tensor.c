// Tensors: metadata over memory that Python gives.

#include "host.h"
#include "libc.h"

static int64_t elements(const Tensor* self) {
  int64_t count = 1;
  for (int64_t i = 0; i < self->dimensions; ++i) count *= self->sizes[i];
  return count;
}

static Tensor* tensor_on(Storage* storage, int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                         int64_t offset, int32_t dtype) {
  if (dimensions < 0 || dimensions > kMaxDimensions) {
    rocmatrix_refuse("a tensor of more than 64 dimensions");
    return NULL;
  }
  Tensor* made = calloc(1, sizeof(Tensor));
  made->storage = storage;
  made->offset = offset;
  made->dtype = dtype;
  made->dimensions = dimensions;
  for (int64_t i = 0; i < dimensions; ++i) {
    made->sizes[i] = sizes[i];
    made->strides[i] = strides[i];
  }
  if (storage) ++storage->owners;
  return made;
}

static void release(Storage* storage) {
  if (storage == NULL || --storage->owners > 0) return;
  if (storage->deleter) {
    storage->deleter(storage->data, storage->context);
  } else if (!storage->borrowed) {
    rocmatrix_callbacks.release(storage->data);
  }
  free(storage);
}

static Storage* storage_new(void* data, int64_t size, int32_t device_type, int32_t device_index) {
  Storage* made = calloc(1, sizeof(Storage));
  made->data = data;
  made->size = size;
  made->device_type = device_type;
  made->device_index = device_index;
  return made;
}

Tensor* rocmatrix_tensor_new(int64_t dimensions, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                             int32_t device_type, int32_t device_index) {
  int64_t last = 0;
  bool empty = false;
  for (int64_t i = 0; i < dimensions; ++i) {
    if (sizes[i] < 0 || strides[i] < 0) {
      rocmatrix_refuse("a tensor with a negative size or stride");
      return NULL;
    }
    empty |= sizes[i] == 0;
    last += (sizes[i] - 1) * strides[i];
  }
  const int64_t bytes = empty ? 0 : (last + 1) * (int64_t)aoti_torch_dtype_element_size(dtype);
  void* data = rocmatrix_callbacks.allocate(bytes, device_type, device_index);
  if (data == NULL && bytes > 0) {
    rocmatrix_refuse("more memory than the emulated device has");
    return NULL;
  }
  return tensor_on(storage_new(data, bytes, device_type, device_index), dimensions, sizes, strides, 0, dtype);
}

Tensor* rocmatrix_tensor_view(const Tensor* self, int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                              int64_t offset) {
  return tensor_on(self->storage, dimensions, sizes, strides, offset, self->dtype);
}

Tensor* rocmatrix_tensor_wrap(void* data, int64_t bytes, int64_t dimensions, const int64_t* sizes,
                              const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type,
                              int32_t device_index) {
  Storage* storage = storage_new(data, bytes, device_type, device_index);
  storage->borrowed = true;
  return tensor_on(storage, dimensions, sizes, strides, offset, dtype);
}

// -- life ------------------------------------------------------------------------------------------------------------

int32_t aoti_torch_new_tensor_handle(Tensor* self, Tensor** made) {
  *made = tensor_on(self->storage, self->dimensions, self->sizes, self->strides, self->offset, self->dtype);
  return *made ? kSuccess : kFailure;
}

int32_t aoti_torch_delete_tensor_object(Tensor* self) {
  if (self == NULL) return kSuccess;
  release(self->storage);
  free(self);
  return kSuccess;
}

int32_t aoti_torch_new_uninitialized_tensor(Tensor** made) {
  *made = calloc(1, sizeof(Tensor));
  return kSuccess;
}

int32_t aoti_torch_assign_tensors(Tensor* from, Tensor* to) {
  if (from == to) return kSuccess;
  if (from->storage) ++from->storage->owners;
  release(to->storage);
  *to = *from;
  return kSuccess;
}

int32_t aoti_torch_assign_tensors_out(Tensor* from, Tensor** made) { return aoti_torch_new_tensor_handle(from, made); }

int32_t aoti_torch_empty_strided(int64_t dimensions, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                 int32_t device_type, int32_t device_index, Tensor** made) {
  *made = rocmatrix_tensor_new(dimensions, sizes, strides, dtype, device_type, device_index);
  return *made ? kSuccess : kFailure;
}

static int32_t wrap(void* data, int64_t dimensions, const int64_t* sizes, const int64_t* strides, int64_t offset,
                    int32_t dtype, int32_t device_type, int32_t device_index, Tensor** made) {
  int64_t last = offset;
  for (int64_t i = 0; i < dimensions; ++i) last += sizes[i] ? (sizes[i] - 1) * strides[i] : 0;
  const int64_t bytes = (last + 1) * (int64_t)aoti_torch_dtype_element_size(dtype);
  *made = rocmatrix_tensor_wrap(data, bytes, dimensions, sizes, strides, offset, dtype, device_type, device_index);
  return *made ? kSuccess : kFailure;
}

int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                                           int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                           Tensor** made) {
  return wrap(data, dimensions, sizes, strides, offset, dtype, device_type, device_index, made);
}

int32_t aoti_torch_create_tensor_from_blob_v2(void* data, int64_t dimensions, const int64_t* sizes,
                                              const int64_t* strides, int64_t offset, int32_t dtype,
                                              int32_t device_type, int32_t device_index, Tensor** made, int32_t layout,
                                              const uint8_t* metadata, int64_t metadata_size) {
  (void)metadata;
  if (layout != 0 || metadata_size != 0) return rocmatrix_refuse("from_blob with a layout other than strided");
  return wrap(data, dimensions, sizes, strides, offset, dtype, device_type, device_index, made);
}

int32_t torch_from_blob(void* data, int64_t dimensions, const int64_t* sizes, const int64_t* strides, int64_t offset,
                        int32_t dtype, int32_t device_type, int32_t device_index, Tensor** made, int32_t layout,
                        const uint8_t* metadata, int64_t metadata_size, void (*deleter)(void*, void*), void* context) {
  (void)metadata;
  if (layout != 0 || metadata_size != 0) return rocmatrix_refuse("from_blob with a layout other than strided");
  if (wrap(data, dimensions, sizes, strides, offset, dtype, device_type, device_index, made)) return kFailure;
  (*made)->storage->deleter = deleter;
  (*made)->storage->context = context;
  return kSuccess;
}

int32_t aoti_torch__reinterpret_tensor(Tensor* self, int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                                       int64_t offset, Tensor** made) {
  *made = rocmatrix_tensor_view(self, dimensions, sizes, strides, self->offset + offset);
  return *made ? kSuccess : kFailure;
}

int32_t aoti_torch_as_strided(Tensor* self, const int64_t* sizes, const int64_t* strides, Tensor** made) {
  *made = rocmatrix_tensor_view(self, self->dimensions, sizes, strides, self->offset);
  return *made ? kSuccess : kFailure;
}

// -- questions -------------------------------------------------------------------------------------------------------

int32_t aoti_torch_is_defined(Tensor* self, bool* answer) { return *answer = self->storage != NULL, kSuccess; }

static int32_t data_of(Tensor* self, void** data) {
  if (self->storage == NULL) return rocmatrix_refuse("the data of an undefined tensor");
  uint8_t* start = self->storage->data;
  *data = start == NULL || elements(self) == 0 ? NULL : start + self->offset * (int64_t)aoti_torch_dtype_element_size(self->dtype);
  return kSuccess;
}

int32_t aoti_torch_get_data_ptr(Tensor* self, void** data) { return data_of(self, data); }
int32_t torch_get_mutable_data_ptr(Tensor* self, void** data) { return data_of(self, data); }
int32_t torch_get_const_data_ptr(Tensor* self, const void** data) { return data_of(self, (void**)data); }
int32_t aoti_torch_get_storage_size(Tensor* self, int64_t* size) {
  if (self->storage == NULL) return rocmatrix_refuse("the storage of an undefined tensor");
  return *size = self->storage->size, kSuccess;
}
int32_t aoti_torch_get_storage_numel(Tensor* self, int64_t* count) {
  if (self->storage == NULL) return rocmatrix_refuse("the storage of an undefined tensor");
  return *count = self->storage->size / (int64_t)aoti_torch_dtype_element_size(self->dtype), kSuccess;
}
int32_t aoti_torch_get_dim(Tensor* self, int64_t* dimensions) { return *dimensions = self->dimensions, kSuccess; }
int32_t aoti_torch_get_numel(Tensor* self, int64_t* count) { return *count = elements(self), kSuccess; }
int32_t aoti_torch_get_sizes(Tensor* self, int64_t** sizes) { return *sizes = self->sizes, kSuccess; }
int32_t aoti_torch_get_strides(Tensor* self, int64_t** strides) { return *strides = self->strides, kSuccess; }

// Negative axes count from the end, as in torch; an axis that is not there is an error.
static int64_t axis(const Tensor* self, int64_t d) {
  const int64_t place = d < 0 ? d + self->dimensions : d;
  return place >= 0 && place < self->dimensions ? place : -1;
}

int32_t aoti_torch_get_size(Tensor* self, int64_t d, int64_t* size) {
  const int64_t place = axis(self, d);
  if (place < 0) return rocmatrix_refuse("the size of a dimension that the tensor does not have");
  return *size = self->sizes[place], kSuccess;
}

int32_t aoti_torch_get_stride(Tensor* self, int64_t d, int64_t* stride) {
  const int64_t place = axis(self, d);
  if (place < 0) return rocmatrix_refuse("the stride of a dimension that the tensor does not have");
  return *stride = self->strides[place], kSuccess;
}

int32_t aoti_torch_get_dtype(Tensor* self, int32_t* dtype) { return *dtype = self->dtype, kSuccess; }

int32_t aoti_torch_get_device_type(Tensor* self, int32_t* type) {
  if (self->storage == NULL) return rocmatrix_refuse("the device of an undefined tensor");
  return *type = self->storage->device_type, kSuccess;
}

int32_t aoti_torch_get_device_index(Tensor* self, int32_t* index) {
  if (self->storage == NULL) return rocmatrix_refuse("the device of an undefined tensor");
  return *index = self->storage->device_index, kSuccess;
}

int32_t aoti_torch_get_layout(Tensor* self, int32_t* layout) { return (void)self, *layout = 0, kSuccess; }
int32_t aoti_torch_get_storage_offset(Tensor* self, int64_t* offset) { return *offset = self->offset, kSuccess; }

// c10::TensorImpl::compute_contiguous: axes of one element say nothing, a tensor without elements is contiguous.
int32_t aoti_torch_is_contiguous(Tensor* self, bool* answer) {
  int64_t expected = 1;
  *answer = true;
  if (elements(self) == 0) return kSuccess;
  for (int64_t i = self->dimensions - 1; i >= 0; --i) {
    if (self->sizes[i] == 1) continue;
    if (self->strides[i] != expected) *answer = false;
    expected *= self->sizes[i];
  }
  return kSuccess;
}

int32_t torch_set_requires_grad(Tensor* self, bool wanted) {
  (void)self;
  return wanted ? rocmatrix_refuse("requires_grad") : kSuccess;
}
