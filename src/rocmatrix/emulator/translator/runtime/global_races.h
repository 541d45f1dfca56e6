// Races in global memory: what an access does with stamps (rocmatrix.emulator.races.global_bytes).

#pragma once

#include "races.h"

INLINE s_u64 race_wave(s_u64 stamp) { return stamp >> 21 & 0xFFFFF; }

INLINE int race_ordered(const struct races* R, s_u64 stamp) {
  const struct race_group* G = R->group;
  const s_u64 wave = race_wave(stamp), near = wave - G->first;
  if (!stamp || near == R->number) return 1;
  if (near < G->count && G->clock[R->number * G->count + near] >= stamp >> 41) return 1;
  return R->acquired && R->acquired[wave] >= stamp >> 41;
}

INLINE int race_near(const struct races* R, s_u64 stamp) { return race_wave(stamp) - R->group->first < R->group->count; }

INLINE int race_excused(const struct races* R, s_u64 stamp) {
  const s_u64 least = race_near(R, stamp) ? OF_WORKGROUP : OF_AGENT;
  return (stamp >> 1 & 3) >= least && SCOPE_OF(R->issue) >= least;
}

INLINE void race_hold(const struct race_access* X, s_u64 lane, s_u64 stamp) {
  race_report(X, lane, stamp >> 3 & 0x3FFFF, race_wave(stamp), stamp & 1, 0);
}

OUTLINE void race_read_slots(const struct race_access* X, s_u64* slot, s_u64 lane) {
  struct races* R = X->R;
  for (int i = 0; i < SLOTS; ++i)
    if (slot[i] & 1 && !race_ordered(R, slot[i]) && !race_excused(R, slot[i])) race_hold(X, lane, slot[i]);
  if (race_ordered(R, slot[1]) || (!race_ordered(R, slot[2]) && race_near(R, slot[1]))) slot[1] = R->stamp;
  else slot[2] = R->stamp;
}

OUTLINE void race_write_slots(const struct race_access* X, s_u64* slot, s_u64 lane, s_u64 first, s_u64 count) {
  struct races* R = X->R;
  const s_u64 before = slot[0], scope = SCOPE_OF(R->issue);
  if (before == (R->stamp | 1)) {  // a lower lane of this very instruction was here
    if (X->mode == RACE_WRITE) race_collide(X, lane);
    return;
  }
  // an atomic hides neither another wave's from a later plain access, nor a plain write from a later atomic
  int hidden = before && (before >> 1 & 3) < race_least(scope, OF_AGENT);
  if (!race_ordered(R, before)) {
    if (race_excused(R, before)) hidden = 1;
    else if (!race_same(X, lane, first, count)) race_hold(X, lane, before);
  }
  for (int i = 1; i < SLOTS; ++i) {
    const int ordered = race_ordered(R, slot[i]), excused = race_excused(R, slot[i]);
    if (!ordered && !excused) race_hold(X, lane, slot[i]);
    if (ordered || !excused) slot[i] = 0;
  }
  if (hidden) slot[slot[1] ? 2 : 1] = before;
  slot[0] = R->stamp | 1;
}

// Learns what waves of the same workgroup had done when they wrote what an atomic access finds.
OUTLINE void race_learn(struct races* R, s_u64 stamp) {
  struct race_group* G = R->group;
  const s_u64 other = race_wave(stamp) - G->first, me = R->number, n = G->count;
  if (!stamp || other >= n || other == me || (stamp >> 1 & 3) < OF_WORKGROUP) return;
  for (s_u64 i = 0; i < n; ++i) G->clock[me * n + i] = race_most(G->clock[me * n + i], G->clock[other * n + i]);
  G->clock[me * n + other] = race_most(G->clock[me * n + other], (stamp >> 41) - 1);
  s_u64* mine = G->lds_clock + me * 2 * n;
  for (s_u64 i = 0; i < 2 * n; ++i) mine[i] = race_most(mine[i], G->lds_clock[other * 2 * n + i]);
  mine[other] = race_most(mine[other], race_counters(R, other)[LGKM_DONE]);
  mine[n + other] = race_most(mine[n + other], race_counters(R, other)[VM_DONE]);
}

// Gives each byte of a dword the dword's slots.
OUTLINE void race_split(const struct race_shadow* S, s_u64 dword) {
  s_u64* slot = S->dwords + SLOTS * dword;
  if (slot[0] == SPLIT) return;
  for (s_u64 i = 0; i < 4; ++i) __builtin_memcpy(S->bytes + SLOTS * (4 * dword + i), slot, SLOTS * sizeof(s_u64));
  slot[0] = SPLIT;
}

INLINE void race_touch(const struct race_access* X, s_u64* slot, s_u64 lane, s_u64 first, s_u64 count, s_u64 mode) {
  if (mode == RACE_READ) {
    // usual reads: nobody has written, and nobody has read before, or this wave, or another workgroup
    const s_u64 near = race_wave(slot[1]) - X->R->group->first;
    if (!slot[0] && (!slot[1] || near == X->R->number)) slot[1] = X->R->stamp;
    else if (!slot[0] && near >= X->R->group->count && !X->R->acquired) slot[2] = X->R->stamp;
    else race_read_slots(X, slot, lane);
  } else {
    race_write_slots(X, slot, lane, first, count);
  }
}

// Sees an access of one lane; `learning` only looks for what can be learnt.
INLINE void race_lane(const struct race_access* X, const struct race_shadow* S, s_u64 offset, s_u64 lane, s_u64 size,
                      s_u64 mode, int learning) {
  const int whole = !(offset & 3) && !(size & 3);
  for (s_u64 at = 0; at < size;) {
    const s_u64 dword = (offset + at) >> 2;
    s_u64* slot = S->dwords + SLOTS * dword;
    if (whole && slot[0] != SPLIT) {
      if (learning) race_learn(X->R, slot[0]);
      else race_touch(X, slot, lane, at, 4, mode);
      at += 4;
      continue;
    }
    race_split(S, dword);
    for (const s_u64 end = race_least(size, 4 * (dword + 1) - offset); at < end; ++at) {
      s_u64* byte = S->bytes + SLOTS * (offset + at);
      if (learning) race_learn(X->R, byte[0]);
      else race_touch(X, byte, lane, at, 1, mode);
    }
  }
}

#define RACE_GLOBAL(name, MODE)                                                                                         \
  OUTLINE void race_global_##name(struct wave* W, const s_u64* address, uint8_t* const* place, s_u64 mask, s_u64 size,  \
                                  const s_u32* const* in) {                                                             \
    struct races* R = W->races;                                                                                         \
    const struct race_access X = {W, R, address, place, in, mask, size, MODE, IN_GLOBAL};                               \
    const s_u64 scope = SCOPE_OF(R->issue), me = R->group->first + R->number;                                           \
    const int reads = MODE == RACE_READ || (MODE == RACE_ATOMIC && R->issue & RETURNS);                                 \
    if (scope >= OF_AGENT && reads && R->launch->released) R->launch->event(me, EVENT_OBSERVE, address, mask);          \
    if (scope >= OF_WORKGROUP && reads && race_global_lanes(&X, size, MODE, 1)) return;                                 \
    if (race_global_lanes(&X, size, MODE, 0)) return;                                                                   \
    if (scope >= OF_AGENT && MODE != RACE_READ && (race_counters(R, R->number)[RELEASES] || R->launch->released))       \
      R->launch->event(me, EVENT_PUBLISH, address, mask);                                                               \
  }

// Sees all lanes of an access; says whether one of them is outside of memory.
INLINE int race_global_lanes(const struct race_access* X, s_u64 size, s_u64 mode, int learning) {
  const struct allocation* A = X->W->recent;
  EACH(lane, X->mask) {
    if (!holds(A, X->address[lane], size) && !(A = find(X->W, X->address[lane], size))) return 1;
    const struct race_shadow* S = &X->R->launch->shadows[A - X->W->allocations];
    if (S->dwords) race_lane(X, S, X->address[lane] - A->address, lane, size, mode, learning);
  }
  return 0;
}

RACE_GLOBAL(read, RACE_READ)
RACE_GLOBAL(write, RACE_WRITE)
RACE_GLOBAL(atomic, RACE_ATOMIC)

INLINE void race_global(struct wave* W, const s_u64* address, uint8_t* const* place, s_u64 mask, s_u64 size, s_u64 mode,
                        const s_u32* const* in) {
  if (!mask) return;
  if (mode == RACE_READ) race_global_read(W, address, place, mask, size, in);
  else if (mode == RACE_WRITE) race_global_write(W, address, place, mask, size, in);
  else race_global_atomic(W, address, place, mask, size, in);
}

OUTLINE void race_scalar(struct wave* W, s_u64 address, s_u64 size) {
  const s_u64 addresses[LANES] = {address};
  race_global(W, addresses, 0, 1, size, RACE_READ, 0);
}
