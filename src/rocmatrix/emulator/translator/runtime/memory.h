// Memory accesses of a wave, all bounds checked: lanes in `mask` only; an access that faults changes nothing.

#pragma once

#include "wave.h"

INLINE int holds(const struct allocation* A, s_u64 address, s_u64 size) {
  return A && A->size >= size && address - A->address <= A->size - size;
}

OUTLINE const struct allocation* find(struct wave* W, s_u64 address, s_u64 size) {
  s_u64 low = 0, high = W->allocation_count;
  while (low < high) {
    const s_u64 middle = (low + high) / 2;
    if (W->allocations[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  if (!low || !holds(&W->allocations[low - 1], address, size)) return 0;
  return W->recent = &W->allocations[low - 1];
}

#define EACH(lane, mask) for (s_u64 rest_ = (mask), lane; rest_ && (lane = (s_u64)__builtin_ctzll(rest_), 1); rest_ &= rest_ - 1)

#include "global_races.h"
#include "lds_races.h"

// Finds the bytes of each lane; `address_of` gives a lane's address.
#define PLACES(name, type)                                                                                              \
  INLINE int global_##name(struct wave* W, const type* address, s_u64 mask, s_u64 size, int writing, uint8_t** place,    \
                           s_u32 where) {                                                                               \
    const struct allocation* A = W->recent;                                                                             \
    EACH(lane, mask) {                                                                                                  \
      if (!holds(A, address[lane], size) && !(A = find(W, address[lane], size)))                                        \
        return fault(W, IN_GLOBAL, writing, (int)lane, address[lane], size, where);                                     \
      if (writing && !A->writable) return fault(W, IN_GLOBAL, writing, (int)lane, address[lane], size, where);           \
      place[lane] = A->data + (address[lane] - A->address);                                                             \
    }                                                                                                                   \
    return 0;                                                                                                           \
  }                                                                                                                    \
  INLINE int lds_##name(struct wave* W, const type* address, s_u64 base, s_u64 mask, s_u64 size, int writing,            \
                        uint8_t** place, s_u32 where) {                                                                 \
    EACH(lane, mask) {                                                                                                  \
      const s_u64 offset = (s_u64)address[lane] - base;                                                                 \
      if (W->lds_size < size || offset > W->lds_size - size)                                                            \
        return fault(W, IN_LDS, writing, (int)lane, offset, size, where);                                               \
      place[lane] = W->lds + offset;                                                                                    \
    }                                                                                                                   \
    return 0;                                                                                                           \
  }                                                                                                                    \
  INLINE int scratch_##name(struct wave* W, const type* address, s_u64 base, s_u64 mask, s_u64 size, int writing,        \
                            uint8_t** place, s_u32 where) {                                                             \
    EACH(lane, mask) {                                                                                                  \
      const s_u64 offset = (s_u64)address[lane] - base;                                                                 \
      if (W->scratch_size < size || offset > W->scratch_size - size)                                                    \
        return fault(W, IN_SCRATCH, writing, (int)lane, offset, size, where);                                           \
      place[lane] = W->scratch + lane * W->scratch_size + offset;                                                       \
    }                                                                                                                   \
    return 0;                                                                                                           \
  }

PLACES(places_u32, s_u32)
PLACES(places_u64, s_u64)

// The lanes of a FLAT access that lie in an aperture.
INLINE s_u64 within(const s_u64* address, s_u64 mask, s_u64 base) {
  s_u64 inside = 0;
  EACH(lane, mask) inside |= (s_u64)(address[lane] - base < APERTURE_SIZE) << lane;
  return inside;
}

INLINE void fetch(uint8_t* const* place, s_u64 mask, s_u64 size, s_u32* out) {
  EACH(lane, mask) {
    if (size < 4) {
      out[lane] = size == 1 ? *place[lane] : (s_u32)place[lane][0] | (s_u32)place[lane][1] << 8;
    } else {
      s_u32 words[4];
      __builtin_memcpy(words, place[lane], size);
      for (s_u64 i = 0; i < size / 4; ++i) out[i * LANES + lane] = words[i];
    }
  }
}

INLINE void put(struct wave* W, uint8_t* const* place, s_u64 mask, s_u64 size, const s_u32* const* in) {
  s_u32 changed = 0;
  EACH(lane, mask) {
    if (size < 4) {
      changed |= *place[lane] ^ (in[0][lane] & 0xFF);
      if (size == 2) changed |= place[lane][1] ^ (in[0][lane] >> 8 & 0xFF);
      __builtin_memcpy(place[lane], &in[0][lane], size);
    } else {
      s_u32 words[4], old[4];
      __builtin_memcpy(old, place[lane], size);
      for (s_u64 i = 0; i < size / 4; ++i) changed |= old[i] ^ (words[i] = in[i][lane]);
      __builtin_memcpy(place[lane], words, size);
    }
  }
  W->changes += !!changed;
}

// Whether an atomic changes memory.
INLINE int differs(const uint8_t* place, const void* value, s_u64 size) {
  s_u32 different = 0, a, b;
  for (s_u64 i = 0; i < size; i += 4) {
    __builtin_memcpy(&a, place + i, 4);
    __builtin_memcpy(&b, (const uint8_t*)value + i, 4);
    different |= a ^ b;
  }
  return !!different;
}

#define CLEAR(out, size) __builtin_memset(out, 0, ((size) < 4 ? 4 : (size)) * LANES)

#define ACCESSES(size)                                                                                                  \
  OUTLINE int load_global_##size(struct wave* W, const s_u64* address, s_u64 mask, s_u32* out, s_u32 where) {            \
    uint8_t* place[LANES];                                                                                              \
    if (~mask) CLEAR(out, size);                                                                                        \
    if (global_places_u64(W, address, mask, size, READS, place, where)) return FAULT;                                   \
    if (W->races) race_global(W, address, place, mask, size, RACE_READ, 0);                                             \
    fetch(place, mask, size, out);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int load_lds_##size(struct wave* W, const s_u32* address, s_u64 mask, s_u32* out, s_u32 where) {               \
    uint8_t* place[LANES];                                                                                              \
    if (~mask) CLEAR(out, size);                                                                                        \
    if (lds_places_u32(W, address, 0, mask, size, READS, place, where)) return FAULT;                                   \
    if (W->races) race_lds(W, place, mask, size, RACE_READ, 0);                                                         \
    fetch(place, mask, size, out);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int load_scratch_##size(struct wave* W, const s_u64* address, s_u64 mask, s_u32* out, s_u32 where) {           \
    uint8_t* place[LANES];                                                                                              \
    if (~mask) CLEAR(out, size);                                                                                        \
    if (scratch_places_u64(W, address, 0, mask, size, READS, place, where)) return FAULT;                               \
    fetch(place, mask, size, out);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int load_flat_##size(struct wave* W, const s_u64* address, s_u64 mask, s_u32* out, s_u32 where) {              \
    uint8_t* place[LANES];                                                                                              \
    const s_u64 shared = within(address, mask, SHARED_APERTURE), own = within(address, mask, PRIVATE_APERTURE);         \
    if (~mask) CLEAR(out, size);                                                                                        \
    if (lds_places_u64(W, address, SHARED_APERTURE, shared, size, READS, place, where)) return FAULT;                   \
    if (scratch_places_u64(W, address, PRIVATE_APERTURE, own, size, READS, place, where)) return FAULT;                 \
    if (global_places_u64(W, address, mask & ~shared & ~own, size, READS, place, where)) return FAULT;                  \
    if (W->races) {                                                                                                     \
      race_lds(W, place, shared, size, RACE_READ, 0);                                                                   \
      race_global(W, address, place, mask & ~shared & ~own, size, RACE_READ, 0);                                        \
    }                                                                                                                   \
    fetch(place, mask, size, out);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int store_global_##size(struct wave* W, const s_u64* address, s_u64 mask, const s_u32* const* in,              \
                                  s_u32 where) {                                                                        \
    uint8_t* place[LANES];                                                                                              \
    if (global_places_u64(W, address, mask, size, WRITES, place, where)) return FAULT;                                  \
    if (W->races) race_global(W, address, place, mask, size, RACE_WRITE, in);                                           \
    put(W, place, mask, size, in);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int store_lds_##size(struct wave* W, const s_u32* address, s_u64 mask, const s_u32* const* in, s_u32 where) {  \
    uint8_t* place[LANES];                                                                                              \
    if (lds_places_u32(W, address, 0, mask, size, WRITES, place, where)) return FAULT;                                  \
    if (W->races) race_lds(W, place, mask, size, RACE_WRITE, in);                                                       \
    put(W, place, mask, size, in);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int store_scratch_##size(struct wave* W, const s_u64* address, s_u64 mask, const s_u32* const* in,             \
                                   s_u32 where) {                                                                       \
    uint8_t* place[LANES];                                                                                              \
    if (scratch_places_u64(W, address, 0, mask, size, WRITES, place, where)) return FAULT;                              \
    put(W, place, mask, size, in);                                                                                      \
    return 0;                                                                                                           \
  }                                                                                                                    \
  OUTLINE int store_flat_##size(struct wave* W, const s_u64* address, s_u64 mask, const s_u32* const* in, s_u32 where) { \
    uint8_t* place[LANES];                                                                                              \
    const s_u64 shared = within(address, mask, SHARED_APERTURE), own = within(address, mask, PRIVATE_APERTURE);         \
    if (lds_places_u64(W, address, SHARED_APERTURE, shared, size, WRITES, place, where)) return FAULT;                  \
    if (W->races) race_lds(W, place, shared, size, RACE_WRITE, in);                                                     \
    put(W, place, shared, size, in);                                                                                    \
    if (scratch_places_u64(W, address, PRIVATE_APERTURE, own, size, WRITES, place, where)) return FAULT;                \
    put(W, place, own, size, in);                                                                                       \
    if (global_places_u64(W, address, mask & ~shared & ~own, size, WRITES, place, where)) return FAULT;                 \
    if (W->races) race_global(W, address, place, mask & ~shared & ~own, size, RACE_WRITE, in);                          \
    put(W, place, mask & ~shared & ~own, size, in);                                                                     \
    return 0;                                                                                                           \
  }

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(12)
ACCESSES(16)

// --- atomics: find the places of one part of the lanes, which must be aligned, readable and writable -----------------

#define PARTS 3

INLINE int aligned(struct wave* W, const s_u64* address, s_u64 base, s_u64 mask, s_u64 size, s_u32 where) {
  EACH(lane, mask) {
    if ((address[lane] - base) % size) return fault(W, IN_GLOBAL, MISALIGNED, (int)lane, address[lane] - base, size, where);
  }
  return 0;
}

// Splits the lanes of an atomic by the memory that they mean, in the order in which they are executed.
OUTLINE void atomic_parts(const s_u64* address, s_u64 mask, int flat, int space, s_u64* parts) {
  parts[IN_LDS] = flat ? within(address, mask, SHARED_APERTURE) : space == IN_LDS ? mask : 0;
  parts[IN_SCRATCH] = flat ? within(address, mask, PRIVATE_APERTURE) : space == IN_SCRATCH ? mask : 0;
  parts[IN_GLOBAL] = mask & ~parts[IN_LDS] & ~parts[IN_SCRATCH];
}

OUTLINE int atomic_places(struct wave* W, const s_u64* address, s_u64 mask, int flat, int space, s_u64 size,
                          uint8_t** place, s_u32 where) {
  const s_u64 base = !flat ? 0 : space == IN_LDS ? SHARED_APERTURE : space == IN_SCRATCH ? PRIVATE_APERTURE : 0;
  if (aligned(W, address, base, mask, size, where)) return FAULT;
  if (space == IN_LDS) {
    if (lds_places_u64(W, address, base, mask, size, READS, place, where)) return FAULT;
    if (W->races && mask) race_lds(W, place, mask, size, RACE_ATOMIC, 0);
    return 0;
  }
  if (space == IN_SCRATCH) return scratch_places_u64(W, address, base, mask, size, READS, place, where);
  if (global_places_u64(W, address, mask, size, READS, place, where)) return FAULT;
  if (global_places_u64(W, address, mask, size, WRITES, place, where)) return FAULT;
  if (W->races) race_global(W, address, place, mask, size, RACE_ATOMIC, 0);
  return 0;
}

// --- scalar loads and moves between lanes ------------------------------------------------------------------------------

OUTLINE const uint8_t* scalar_place(struct wave* W, s_u64 address, s_u64 size, s_u32 where) {
  const struct allocation* A = W->recent;
  if (!holds(A, address, size) && !(A = find(W, address, size))) {
    fault(W, IN_GLOBAL, READS, -1, address, size, where);
    return 0;
  }
  if (W->races) race_scalar(W, address, size);
  return A->data + (address - A->address);
}

#define MOVES(T)                                                                                                        \
  INLINE v_##T gather_##T(const s_##T* values, v_u32 lanes) {                                                           \
    v_##T r;                                                                                                            \
    for (int i = 0; i < GROUP; ++i) r[i] = values[lanes[i] & 63];                                                       \
    return r;                                                                                                           \
  }                                                                                                                    \
  OUTLINE void scatter_##T(const s_##T* values, const s_u32* lanes, s_u64 mask, s_##T* out) {                            \
    __builtin_memset(out, 0, sizeof(s_##T) * LANES);                                                                    \
    EACH(lane, mask) out[lanes[lane] & 63] = values[lane];                                                              \
  }

MOVES(u32)
MOVES(u64)

INLINE s_u32 word_at(const uint8_t* place) {
  s_u32 word;
  __builtin_memcpy(&word, place, sizeof word);
  return word;
}
