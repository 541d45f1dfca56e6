// The state of one wave and its memory. rocmatrix.emulator.translator.native has the same layout.

#pragma once

#include "operations.h"

// What a block or the driver returns.
enum { GO_ON, FLOWED, UNKNOWN, LIMIT, AT_BARRIER, ENDED, SLEEPS, FAULT, UNMET, UNWRITTEN, APPROXIMATES, CROWDED };
enum { IN_GLOBAL, IN_LDS, IN_SCRATCH };
enum { READS, WRITES, MISALIGNED };

#define VCC 106
#define EXEC 126
#define SHARED_APERTURE (1ull << 48)
#define PRIVATE_APERTURE (2ull << 48)
#define APERTURE_SIZE (1ull << 32)

struct allocation {
  s_u64 address;
  s_u64 size;
  uint8_t* data;
  s_u64 writable;
  uint8_t* undefined;  // bits of each byte that nothing wrote; null where everything is written
};

struct late;
struct shadow;
struct wave;
struct races;
typedef int (*block)(struct wave*);

struct wave {
  s_u32 v[256][LANES];
  s_u32 a[256][LANES];
  s_u32 s[128];
  s_u64 scc;
  s_u64 pc;
  s_u64 executed;
  s_u64 last;               // where the last block begins
  s_u64 base;               // where the code begins
  s_u64 code_size;
  const block* blocks;      // one entry for each dword of the code, or null
  uint8_t* lds;
  s_u64 lds_size;
  uint8_t* scratch;         // a row for each lane
  s_u64 scratch_size;
  const struct allocation* allocations;  // by address
  s_u64 allocation_count;
  const struct allocation* recent;
  // of a fault
  s_u64 fault_space, fault_access, fault_lane, fault_address, fault_size, fault_place;
  const char* message;
  s_u64 changes;            // writes that changed memory
  struct races* races;      // of the race detector, or null
  struct shadow* shadow;    // what is undefined, for tracked waves
  struct late* late;        // what loads found and what has not arrived yet, or null
  s_u64 at_an_end;          // approximations are not the nearest ones: the reference executes them
};

INLINE int fault(struct wave* W, int space, int access, int lane, s_u64 address, s_u64 size, s_u32 place) {
  W->fault_space = space;
  W->fault_access = access;
  W->fault_lane = lane;
  W->fault_address = address;
  W->fault_size = size;
  W->fault_place = place;
  return FAULT;
}

INLINE int unmet(struct wave* W, const char* message, s_u32 place) {
  W->message = message;
  W->fault_place = place;
  return UNMET;
}
