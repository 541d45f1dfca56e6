// What loads found and what has not arrived yet. rocmatrix.emulator.delivery has the same layout and says why;
// rocmatrix.emulator.pending has the same in NumPy.

#pragma once

#include "shadow.h"

enum { UNIT_MEMORY, UNIT_LDS, UNIT_SCALAR, UNIT_FLAT };
enum { TO_VGPR, TO_AGPR, TO_SGPR, TO_DWORD_OF_LDS };
#define LATE_CAPACITY 128

struct late_entry {
  s_u64 number, unit, waited, place, first, count, bits, lanes, undefined;
  s_u32 words[4][LANES];
  s_u32 addresses[LANES];
};

struct late {
  s_u64 issued[2];               // accesses of the units that complete in order
  s_u64 count;
  s_u64 order[LATE_CAPACITY];    // first the entries that are under way, oldest first, then those that are free
  struct late_entry entries[LATE_CAPACITY];
};

// --- something is found ------------------------------------------------------------------------------------------------

INLINE struct late_entry* late_add(struct wave* W, s_u64 unit, s_u64 place, s_u64 lanes) {
  struct late* L = W->late;
  struct late_entry* e = &L->entries[L->order[L->count++]];
  e->number = unit <= UNIT_LDS ? L->issued[unit] : 0;
  e->unit = unit;
  e->waited = 0;
  e->place = place;
  e->lanes = lanes;
  e->undefined = 0;
  return e;
}

OUTLINE void late_vectors(struct wave* W, s_u64 unit, s_u64 place, s_u64 first, s_u64 count, s_u64 bits, s_u64 lanes,
                          const s_u32* const* in) {
  struct late_entry* e = late_add(W, unit, place, lanes);
  e->first = first;
  e->count = count;
  e->bits = bits;
  for (s_u64 i = 0; i < count; ++i) __builtin_memcpy(e->words[i], in[i], sizeof e->words[i]);
}

OUTLINE void late_scalars(struct wave* W, s_u64 unit, s_u64 first, s_u64 count, const s_u32* in) {
  struct late_entry* e = late_add(W, unit, TO_SGPR, 0);
  e->first = first;
  e->count = count;
  e->bits = ~(s_u32)0;
  __builtin_memcpy(e->words, in, 4 * count);
}

OUTLINE int late_dwords(struct wave* W, s_u64 unit, const s_u32* address, s_u64 lanes, const s_u32* in, s_u32 where) {
  uint8_t* place[LANES];
  const s_u32* const ins[] = {in};
  if (lds_places_u32(W, address, 0, lanes, 4, WRITES, place, where)) return FAULT;
  if (W->races) race_lds(W, place, lanes, 4, RACE_WRITE, ins);
  struct late_entry* e = late_add(W, unit, TO_DWORD_OF_LDS, lanes);
  __builtin_memcpy(e->words[0], in, sizeof e->words[0]);
  __builtin_memcpy(e->addresses, address, sizeof e->addresses);
  return 0;
}

// --- it arrives --------------------------------------------------------------------------------------------------------

INLINE void late_define(struct wave* W, s_u64 number, s_u64 lanes, s_u32 bits) {
  s_u64* some = &W->shadow->lanes[number];
  EACH(lane, *some & lanes) {
    W->shadow->bits[number][lane] &= ~bits;
    if (!W->shadow->bits[number][lane]) *some &= ~(1ull << lane);
  }
}

OUTLINE void late_arrive(struct wave* W, const struct late_entry* e) {
  if (e->place == TO_SGPR) {
    for (s_u64 i = 0; i < e->count; ++i) {
      W->s[e->first + i] = ((const s_u32*)e->words)[i];
      if (W->shadow) W->shadow->s[e->first + i] = 0;
    }
  } else if (e->place == TO_DWORD_OF_LDS) {
    s_u32 changed = 0, old;
    EACH(lane, e->lanes) {
      __builtin_memcpy(&old, W->lds + e->addresses[lane], 4);
      changed |= old ^ e->words[0][lane];
      __builtin_memcpy(W->lds + e->addresses[lane], &e->words[0][lane], 4);
      if (W->shadow) __builtin_memset(W->shadow->lds + e->addresses[lane], 0, 4);
    }
    W->changes += !!changed;
  } else {
    const s_u32 bits = (s_u32)e->bits;
    for (s_u64 i = 0; i < e->count; ++i) {
      s_u32* into = e->place == TO_VGPR ? W->v[e->first + i] : W->a[e->first + i];
      EACH(lane, e->lanes) into[lane] = (into[lane] & ~bits) | (e->words[i][lane] & bits);
      if (W->shadow) late_define(W, (e->place == TO_AGPR) * 256 + e->first + i, e->lanes, bits);
    }
  }
}

// Counters of a FLAT access that were waited for, this wait included.
INLINE s_u64 late_waited(const struct late_entry* e, s_u64 vm, s_u64 lgkm) {
  return e->waited | (s_u64)(vm == 0) | (s_u64)(lgkm == 0) << 1;
}

INLINE int late_is_due(const struct late* L, const struct late_entry* e, s_u64 vm, s_u64 lgkm) {
  if (e->unit == UNIT_SCALAR) return lgkm == 0;
  if (e->unit == UNIT_FLAT) return late_waited(e, vm, lgkm) == 3;
  return L->issued[e->unit] - e->number > (e->unit == UNIT_MEMORY ? vm : lgkm);
}

// Whether something would arrive of which only the reference knows what is undefined.
OUTLINE int late_undefined(const struct wave* W, s_u64 vm, s_u64 lgkm) {
  const struct late* L = W->late;
  for (s_u64 i = 0; i < L->count; ++i) {
    const struct late_entry* e = &L->entries[L->order[i]];
    if (e->undefined && late_is_due(L, e, vm, lgkm)) return 1;
  }
  return 0;
}

OUTLINE void late_wait(struct wave* W, s_u64 vm, s_u64 lgkm) {
  struct late* L = W->late;
  s_u64 arrived[LATE_CAPACITY], left = 0, gone = 0;
  for (s_u64 i = 0; i < L->count; ++i) {
    const s_u64 number = L->order[i];
    struct late_entry* e = &L->entries[number];
    if (late_is_due(L, e, vm, lgkm)) {
      late_arrive(W, e);
      arrived[gone++] = number;
    } else {
      if (e->unit == UNIT_FLAT) e->waited = late_waited(e, vm, lgkm);
      L->order[left++] = number;
    }
  }
  for (s_u64 i = 0; i < gone; ++i) L->order[left + i] = arrived[i];
  L->count = left;
}
