// What the runtime says of the device: one gfx942 as its profile describes it.

#include "hip.h"
#include "libc.h"

Profile rocmatrix_profile;

void rocmatrix_hip_set_profile(const Profile* profile) { rocmatrix_profile = *profile; }

// What every gfx942 has: CDNA 3 ISA document and white paper; limits of a grid as hipDeviceProp_t of ROCm gives them.
enum {
  kWarp = 64,
  kThreadsOfBlock = 1024,
  kThreadsOfUnit = 2048,
  kLds = 65536,
  kRegisters = 65536,
  kL2 = 4194304,
  kLargestGrid = 2147483647,
  kLargestGridYZ = 65536
};

typedef struct {
  char bytes[16];
} Uuid;

// hipDeviceProp_tR0600 (hip_runtime_api.h of HIP 6 and 7); names of what is not filled in say how much there is.
typedef struct {
  char name[256];
  Uuid uuid;
  char luid[8];
  unsigned int luid_node_mask;
  size_t total_global_memory, shared_memory_per_block;
  int registers_per_block, warp_size;
  size_t memory_pitch;
  int threads_per_block, threads_dimension[3], grid_size[3], clock_rate;
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int device_overlap, compute_units, execution_timeout, integrated, map_host_memory, compute_mode;
  int textures_and_surfaces[40];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc_driver, async_engines, unified_addressing;
  int memory_clock_rate, memory_bus_width, l2_cache_size, persisting_l2, threads_per_unit, stream_priorities;
  int global_l1, local_l1;
  size_t shared_memory_per_unit;
  int registers_per_unit, managed_memory, multi_gpu_board, multi_gpu_group, host_atomics, double_ratio;
  int pageable_access, concurrent_managed, preemption, registered_host_pointer, cooperative, cooperative_multi;
  size_t shared_memory_opt_in;
  int pageable_host_tables, direct_managed, blocks_per_unit, access_policy_window;
  size_t reserved_shared_memory;
  int host_register, sparse_arrays, host_register_read_only, semaphores, memory_pools, rdma;
  unsigned int rdma_flush;
  int rdma_ordering;
  unsigned int pool_handles;
  int deferred_arrays, ipc_events, cluster_launch, function_pointers, reserved[63], hip_reserved[32];
  char arch_name[256];
  size_t largest_shared_memory_per_unit;
  int instruction_clock;
  unsigned int features;
  unsigned int *flush_memory, *flush_registers;
  int unmatched[4], large_bar, revision;
} Properties;
_Static_assert(sizeof(Properties) == 1472, "hipDeviceProp_tR0600 has 1472 bytes");
_Static_assert(offsetof(Properties, compute_units) == 388, "a field before multiProcessorCount is wrong");
_Static_assert(offsetof(Properties, l2_cache_size) == 616, "a field before l2CacheSize is wrong");
_Static_assert(offsetof(Properties, blocks_per_unit) == 712, "a field before maxBlocksPerMultiProcessor is wrong");
_Static_assert(offsetof(Properties, arch_name) == 1160, "a field before gcnArchName is wrong");

static _Thread_local int current_device;

int hipInit(unsigned flags) { return (void)flags, kHipSuccess; }
int hipGetDevice(int* device) { return *device = current_device, kHipSuccess; }
int hipSetDevice(int device) {
  if (device != 0) return rocmatrix_hip_remember(kInvalidDevice);
  return current_device = device, kHipSuccess;
}
int hipGetDeviceCount(int* count) { return *count = 1, kHipSuccess; }
int hipDeviceSynchronize(void) { return rocmatrix_hip_remember(rocmatrix_hip.pending()); }
int hipDriverGetVersion(int* version) { return *version = rocmatrix_profile.version, kHipSuccess; }
int hipRuntimeGetVersion(int* version) { return *version = rocmatrix_profile.version, kHipSuccess; }
int hipMemGetInfo(size_t* available, size_t* total) {
  return *available = *total = (size_t)rocmatrix_profile.memory, kHipSuccess;
}
int hipDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 1, *greatest = -1, kHipSuccess; }

int hipGetDevicePropertiesR0600(Properties* properties, int device) {
  if (device != 0) return rocmatrix_hip_remember(kInvalidDevice);
  const Profile* profile = &rocmatrix_profile;
  memset(properties, 0, sizeof(*properties));
  strncpy(properties->name, profile->name, sizeof(properties->name) - 1);
  strcpy(properties->arch_name, "gfx942:sramecc+:xnack-");
  properties->total_global_memory = (size_t)profile->memory;
  properties->shared_memory_per_block = properties->shared_memory_per_unit = kLds;
  properties->largest_shared_memory_per_unit = kLds;
  properties->registers_per_block = properties->registers_per_unit = kRegisters;
  properties->warp_size = kWarp;
  properties->threads_per_block = kThreadsOfBlock;
  for (int i = 0; i < 3; ++i) properties->threads_dimension[i] = kThreadsOfBlock;
  properties->grid_size[0] = kLargestGrid;
  properties->grid_size[1] = properties->grid_size[2] = kLargestGridYZ;
  properties->clock_rate = profile->clock;
  properties->major = 9, properties->minor = 4;
  properties->compute_units = profile->compute_units;
  properties->integrated = profile->integrated;
  properties->map_host_memory = properties->concurrent_kernels = properties->unified_addressing = 1;
  properties->ecc = properties->cooperative = 1;
  properties->memory_clock_rate = profile->memory_clock;
  properties->memory_bus_width = profile->bus_width;
  properties->l2_cache_size = kL2;
  properties->threads_per_unit = kThreadsOfUnit;
  properties->blocks_per_unit = kThreadsOfUnit / kWarp;
  return kHipSuccess;
}

typedef struct {
  int number;
  int64_t value;
} Attribute;

// Numbers of hipDeviceAttribute_t (hip_runtime_api.h of HIP 7).
int hipDeviceGetAttribute(int* value, int number, int device) {
  const Profile* profile = &rocmatrix_profile;
  const Attribute known[] = {
      {0, 1},                          // ECC
      {3, 1},                          // host memory can be mapped
      {5, profile->clock},             // clock
      {8, 1},                          // concurrent kernels
      {10, 1},                         // cooperative launch
      {16, profile->integrated},       // integrated
      {19, kL2},                       // L2
      {23, 9},                         // compute capability, major
      {25, kThreadsOfUnit / kWarp},    // blocks of a compute unit
      {26, kThreadsOfBlock},           // block x, y, z
      {27, kThreadsOfBlock},           //
      {28, kThreadsOfBlock},           //
      {29, kLargestGrid},              // grid x, y, z
      {30, kLargestGridYZ},            //
      {31, kLargestGridYZ},            //
      {56, kThreadsOfBlock},           // threads of a block
      {57, kThreadsOfUnit},            // threads of a compute unit
      {59, profile->bus_width},        // bus
      {60, profile->memory_clock},     // memory clock
      {61, 4},                         // compute capability, minor
      {63, profile->compute_units},    // compute units
      {71, kRegisters},                // registers of a block
      {72, kRegisters},                // registers of a compute unit
      {74, kLds},                      // LDS of a block
      {76, kLds},                      // LDS of a compute unit
      {85, 1},                         // unified addressing
      {87, kWarp},                     // lanes of a wave
  };
  if (device != 0) return rocmatrix_hip_remember(kInvalidDevice);
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (known[i].number == number) return *value = (int)known[i].value, kHipSuccess;
  }
  rocmatrix_hip.refuse("hipDeviceGetAttribute: an attribute whose value is not known");
  return rocmatrix_hip_remember(kNotSupported);
}
