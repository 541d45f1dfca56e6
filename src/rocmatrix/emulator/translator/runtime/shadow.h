// Undefined bits of registers and memory: generated code runs as long as it meets none (rocmatrix.emulator.shadow).

#pragma once

#include "memory.h"

// rocmatrix.emulator.shadow.registers has the same layout; AGPRs follow VGPRs.
struct shadow {
  s_u64 lanes[512];  // of each vector register, those with an undefined bit
  s_u32 bits[512][LANES];
  s_u32 s[128];
  s_u64 scc;
  uint8_t* lds;      // a byte for each byte
  uint8_t* scratch;
};

// --- registers ---------------------------------------------------------------------------------------------------------

INLINE s_u64 undefined_lanes(const struct wave* W, const s_u16* list, int count) {
  s_u64 lanes = 0;
  for (int i = 0; i < count; ++i) lanes |= W->shadow->lanes[list[i]];
  return lanes;
}

INLINE s_u32 undefined_scalars(const struct wave* W, const s_u16* list, int count) {
  s_u32 bits = 0;
  for (int i = 0; i < count; ++i) bits |= W->shadow->s[list[i]];
  return bits;
}

// Registers were written with defined values in some lanes.
OUTLINE void wrote_vectors(struct wave* W, const s_u16* list, int count, s_u64 mask) {
  for (int i = 0; i < count; ++i) {
    s_u64* lanes = &W->shadow->lanes[list[i]];
    if (!(*lanes & mask)) continue;
    EACH(lane, *lanes & mask) W->shadow->bits[list[i]][lane] = 0;
    *lanes &= ~mask;
  }
}

INLINE void wrote_vector(struct wave* W, int number, s_u64 mask) {
  const s_u16 list[] = {(s_u16)number};
  wrote_vectors(W, list, 1, mask);
}

INLINE void wrote_scalars(struct wave* W, const s_u16* list, int count) {
  for (int i = 0; i < count; ++i) W->shadow->s[list[i]] = 0;
}

// The race detector has seen an instruction that the reference will show it again.
INLINE void race_take_back(struct wave* W, s_u64 issue) {
  s_u64* c = race_counters(W->races, W->races->number);
  c[VM_ISSUED] -= issue & 1;
  c[LGKM_ISSUED] -= issue >> 1 & 1;
}

// --- memory: where is what belongs to an address; null where nothing is undefined or the access will fault -------------

INLINE uint8_t* shadow_global(struct wave* W, s_u64 address, s_u64 size) {
  const struct allocation* A = W->recent;
  if (!holds(A, address, size) && !(A = find(W, address, size))) return 0;
  return A->undefined ? A->undefined + (address - A->address) : 0;
}

INLINE uint8_t* shadow_lds(struct wave* W, s_u64 offset, s_u64 size) {
  return W->lds_size < size || offset > W->lds_size - size ? 0 : W->shadow->lds + offset;
}

INLINE uint8_t* shadow_scratch(struct wave* W, s_u64 lane, s_u64 offset, s_u64 size) {
  return W->scratch_size < size || offset > W->scratch_size - size
             ? 0
             : W->shadow->scratch + lane * W->scratch_size + offset;
}

INLINE uint8_t* shadow_flat(struct wave* W, s_u64 lane, s_u64 address, s_u64 size) {
  if (address - SHARED_APERTURE < APERTURE_SIZE) return shadow_lds(W, address - SHARED_APERTURE, size);
  if (address - PRIVATE_APERTURE < APERTURE_SIZE) return shadow_scratch(W, lane, address - PRIVATE_APERTURE, size);
  return shadow_global(W, address, size);
}

INLINE int any_bits(const uint8_t* place, s_u64 size) {
  s_u64 low = 0, high = 0;
  __builtin_memcpy(&low, place, size < 8 ? size : 8);
  if (size > 8) __builtin_memcpy(&high, place + 8, size - 8);
  return (low | high) != 0;
}

// Whether a load would meet undefined bits; stores define what they write.
#define SHADOWED(name, type, size, where)                                                                               \
  OUTLINE int unwritten_##name##_##size(struct wave* W, const type* address, s_u64 mask) {                               \
    int found = 0;                                                                                                      \
    EACH(lane, mask) {                                                                                                  \
      const uint8_t* place = where;                                                                                     \
      if (place) found |= any_bits(place, size);                                                                        \
    }                                                                                                                   \
    return found;                                                                                                       \
  }                                                                                                                     \
  OUTLINE void wrote_##name##_##size(struct wave* W, const type* address, s_u64 mask) {                                  \
    EACH(lane, mask) {                                                                                                  \
      uint8_t* place = where;                                                                                           \
      if (place) __builtin_memset(place, 0, size);                                                                      \
    }                                                                                                                   \
  }

#define SHADOWED_SIZE(size)                                                                                             \
  SHADOWED(global, s_u64, size, shadow_global(W, address[lane], size))                                                   \
  SHADOWED(lds, s_u32, size, shadow_lds(W, address[lane], size))                                                         \
  SHADOWED(wide_lds, s_u64, size, shadow_lds(W, address[lane], size))                                                    \
  SHADOWED(scratch, s_u64, size, shadow_scratch(W, lane, address[lane], size))                                           \
  SHADOWED(flat, s_u64, size, shadow_flat(W, lane, address[lane], size))

SHADOWED_SIZE(1)
SHADOWED_SIZE(2)
SHADOWED_SIZE(4)
SHADOWED_SIZE(8)
SHADOWED_SIZE(12)
SHADOWED_SIZE(16)

OUTLINE int unwritten_scalar(struct wave* W, s_u64 address, s_u64 size) {
  const uint8_t* place = shadow_global(W, address, size);
  s_u32 found = 0;
  for (s_u64 i = 0; place && i < size; ++i) found |= place[i];
  return found != 0;
}
