// Runs translated blocks until the wave stops, leaves what is translated, or has executed enough.

#pragma once

#include "memory.h"

#define EXPORT __attribute__((visibility("default")))

// The race detector for instructions that the reference executes.
EXPORT void run_race_begin(struct wave* W, s_u64 where, s_u64 issue) { race_begin(W, (s_u32)where, issue); }
EXPORT void run_race_wait(struct wave* W, s_u64 vm, s_u64 lgkm) { race_wait(W, vm, lgkm); }
EXPORT void run_race_access(struct wave* W, s_u64 in_lds, const s_u64* address, uint8_t* const* place, s_u64 mask,
                            s_u64 size, s_u64 mode, const s_u32* const* in) {
  if (in_lds) race_lds(W, place, mask, size, mode, in);
  else race_global(W, address, place, mask, size, mode, in);
}

// A turn ends behind an instruction that may move the program counter, once `limit` instructions have been executed.
EXPORT int run_wave(struct wave* W, s_u64 limit) {
#ifdef __x86_64__
  // nearest even, denormals kept, no exceptions: whatever a library has set in this process
  const unsigned int saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1f80);
#endif
  int result;
  for (;;) {
    const s_u64 place = W->pc - W->base;
    const block next = place < W->code_size && !(place & 3) ? W->blocks[place >> 2] : 0;
    if (!next) {
      result = UNKNOWN;
      break;
    }
    W->last = W->pc;
    result = next(W);
    if (result == FLOWED && W->executed >= limit) result = LIMIT;
    if (result > FLOWED) break;
  }
#ifdef __x86_64__
  __builtin_ia32_ldmxcsr(saved);
#endif
  return result;
}
