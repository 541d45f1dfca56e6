// The numbers that stand for dtypes, devices, layouts and memory formats: those of torch 2.13 (c10/core/ScalarType.h,
// DeviceType.h, Layout.h, MemoryFormat.h). Extensions ask for them, so that only their being different matters.

#include "host.h"

#define DTYPES(X)          \
  X(uint8, 0, 1)           \
  X(int8, 1, 1)            \
  X(int16, 2, 2)           \
  X(int32, 3, 4)           \
  X(int64, 4, 8)           \
  X(float16, 5, 2)         \
  X(float32, 6, 4)         \
  X(float64, 7, 8)         \
  X(complex32, 8, 4)       \
  X(complex64, 9, 8)       \
  X(complex128, 10, 16)    \
  X(bool, 11, 1)           \
  X(bfloat16, 15, 2)       \
  X(float8_e5m2, 23, 1)    \
  X(float8_e4m3fn, 24, 1)  \
  X(float8_e5m2fnuz, 25, 1)\
  X(float8_e4m3fnuz, 26, 1)\
  X(uint16, 27, 2)         \
  X(uint32, 28, 4)         \
  X(uint64, 29, 8)         \
  X(float8_e8m0fnu, 44, 1) \
  X(float4_e2m1fn_x2, 45, 1)

#define NUMBER(name, number, size) \
  int32_t aoti_torch_dtype_##name(void) { return number; }
DTYPES(NUMBER)
int32_t torch_dtype_float8_e8m0fnu(void) { return 44; }
int32_t torch_dtype_float4_e2m1fn_x2(void) { return 45; }

size_t aoti_torch_dtype_element_size(int32_t dtype) {
  switch (dtype) {
#define SIZE(name, number, size) \
  case number:                   \
    return size;
    DTYPES(SIZE)
    default:
      rocmatrix_refuse("the size of a dtype that has no number here");
      return 1;
  }
}

#define CONSTANT(name, number) \
  int32_t name(void) { return number; }
CONSTANT(aoti_torch_device_type_cpu, 0)
CONSTANT(aoti_torch_device_type_cuda, 1)
CONSTANT(aoti_torch_device_type_xpu, 12)
CONSTANT(aoti_torch_device_type_mps, 13)
CONSTANT(aoti_torch_device_type_meta, 14)
CONSTANT(aoti_torch_device_type_privateuse1, 20)
CONSTANT(aoti_torch_layout_strided, 0)
CONSTANT(aoti_torch_layout_sparse_coo, 1)
CONSTANT(aoti_torch_layout_sparse_csr, 2)
CONSTANT(aoti_torch_layout__mkldnn, 3)
CONSTANT(aoti_torch_layout_sparse_csc, 4)
CONSTANT(aoti_torch_layout_sparse_bsr, 5)
CONSTANT(aoti_torch_layout_sparse_bsc, 6)
CONSTANT(aoti_torch_layout_jagged, 7)
CONSTANT(aoti_torch_memory_format_contiguous_format, 0)
CONSTANT(aoti_torch_memory_format_preserve_format, 1)
CONSTANT(aoti_torch_memory_format_channels_last, 2)
CONSTANT(aoti_torch_memory_format_channels_last_3d, 3)

static uint64_t abi_version;

// The version of torch that the stand-in plays: major, minor and patch in the three upper bytes.
void rocmatrix_set_version(uint64_t version) { abi_version = version; }
uint64_t aoti_torch_abi_version(void) { return abi_version; }
