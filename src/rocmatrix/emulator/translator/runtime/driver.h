// Runs translated blocks until the wave stops, leaves what is translated, or has executed enough.

#pragma once

#include "wave.h"

// A turn ends behind an instruction that may move the program counter, once `limit` instructions have been executed.
__attribute__((visibility("default"))) int run_wave(struct wave* W, s_u64 limit) {
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
