// A module that any CPython from 3.9 on can import, with an offload bundle inside. It registers no ops.
#include <stddef.h>

__asm__(
    ".pushsection .hip_fatbin,\"a\",@progbits\n"
    ".p2align 12\n"
    ".hidden bundle\n"
    ".globl bundle\n"
    "bundle:\n"
    ".incbin \"scale.hipfb\"\n"
    ".popsection\n");

extern __attribute__((visibility("hidden"))) const char bundle[];

// What clang emits for a HIP program, and the HIP runtime registers: magic "HIPF", version 1, the bundle.
static const struct {
  unsigned int magic, version;
  const void* bundle;
  const void* unused;
} wrapper __attribute__((section(".hipFatBinSegment"), used, retain)) = {0x48495046, 1, bundle, NULL};

extern int hipGetDeviceCount(int* count);

// PyModuleDef of the stable ABI; see CPython's moduleobject.h.
typedef struct {
  ptrdiff_t reference_count;
  void* type;
  void* init;
  ptrdiff_t index;
  void* copy;
  const char* name;
  const char* doc;
  ptrdiff_t size;
  void* methods;
  void* slots;
  void* traverse;
  void* clear;
  void* free;
} PyModuleDef;

extern void* PyModule_Create2(PyModuleDef* definition, int api);

__attribute__((visibility("default"))) void* PyInit__scale_rocm_5ca1e000(void) {
  static PyModuleDef definition = {.reference_count = 1, .name = "_scale_rocm_5ca1e000", .size = -1};
  int count = 0;
  (void)hipGetDeviceCount(&count);
  return PyModule_Create2(&definition, 3);
}
