// The race detector of generated code: stamps of memory, and what an access does with them. rocmatrix.emulator.races has
// the words and the rules, and the same in NumPy; rocmatrix.emulator.translator.race_tracker has the same structures.
//
// Stamps of global memory are kept for dwords. One of which only some bytes were accessed is split: its first slot says so,
// and each of its bytes has slots of its own.

#pragma once

#include "wave.h"

enum { VM_ISSUED, VM_DONE, LGKM_ISSUED, LGKM_DONE, RELEASES };
enum { ISSUES_VM = 1, ISSUES_LGKM = 2, IS_ATOMIC = 4, RETURNS = 8, TO_LDS = 16 };
#define CACHE_OF(issue) ((issue) >> 5 & 3)
#define SCOPE_OF(issue) ((issue) >> 7 & 3)
enum { OF_WAVE, OF_WORKGROUP, OF_AGENT, OF_SYSTEM };
enum { RACE_READ, RACE_WRITE, RACE_ATOMIC };
enum { EVENT_NONE, EVENT_WRITE_BACK, EVENT_ACQUIRE, EVENT_OBSERVE, EVENT_PUBLISH };
#define SPLIT (~0ull)
#define SLOTS 3
#define MOST_RECORDS 64
#define MOST_AGENTS 32

struct race_shadow {
  s_u64* dwords;  // SLOTS for each dword: the last write, two reads; null where nobody may write
  s_u64* bytes;   // the same for each byte of dwords that are split
};

struct race_record {
  s_u64 space, lane, address, place, writes, wave, earlier_place, earlier_writes, earlier_wave, collision;
};

struct race_launch {
  const struct race_shadow* shadows;  // one for each allocation
  struct race_record* records;
  s_u64 record_count;
  s_u64 released;  // addresses at which something was released
  void (*event)(s_u64 wave, s_u64 kind, const s_u64* addresses, s_u64 mask);
};

struct race_group {
  s_u64 first, count;
  s_u64 atomics;      // whether LDS was accessed atomically
  s_u64* clock;       // [count][count]
  s_u64* lds_clock;   // [count][2 * count]
  s_u64 lds_dwords;
  s_u64* lds_whole;   // [1 + 2 * count][dwords]
  s_u64* lds_bytes;   // [1 + 2 * count][4 * dwords], of dwords that are split
  s_u64* lds_sync;    // for each dword [2 * count]
};

struct races {
  struct race_launch* launch;
  struct race_group* group;
  s_u64 number;           // in its workgroup
  s_u64* counters;        // of each wave of the workgroup
  const s_u64* acquired;  // for each wave of the launch, or null
  s_u64 issue, place, stamp, lds_stamp;
};

#define COUNTERS 5

INLINE s_u64* race_counters(const struct races* R, s_u64 wave) { return R->counters + COUNTERS * wave; }
INLINE s_u64 race_least(s_u64 a, s_u64 b) { return a < b ? a : b; }
INLINE s_u64 race_most(s_u64 a, s_u64 b) { return a > b ? a : b; }

// Sees an instruction that is about to access memory.
OUTLINE void race_begin(struct wave* W, s_u32 where, s_u64 issue) {
  struct races* R = W->races;
  s_u64* c = race_counters(R, R->number);
  const s_u64 count = R->group->count, place = where >> 2;
  c[VM_ISSUED] += issue & 1;
  c[LGKM_ISSUED] += issue >> 1 & 1;
  const s_u64 number = c[issue & ISSUES_VM ? VM_ISSUED : VM_DONE];
  const s_u64 lds_number = issue & TO_LDS ? number : c[LGKM_ISSUED];
  const s_u64 agent = R->number + (issue & TO_LDS ? count : 0);
  R->issue = issue;
  R->place = place;
  R->stamp = race_least(number, (1ull << 23) - 1) << 41 | (R->group->first + R->number) << 21 |
             race_least(place, (1ull << 18) - 1) << 3 | SCOPE_OF(issue) << 1;
  R->lds_stamp = race_least(lds_number, (1ull << 32) - 1) << 32 | race_least(place, (1ull << 24) - 1) << 8 | agent << 1;
  if (CACHE_OF(issue)) R->launch->event(R->group->first + R->number, CACHE_OF(issue), 0, 0);
}

// Sees a wait: all but the last `vm` and `lgkm` accesses are complete.
OUTLINE void race_wait(struct wave* W, s_u64 vm, s_u64 lgkm) {
  s_u64* c = race_counters(W->races, W->races->number);
  if (c[VM_ISSUED] > vm) c[VM_DONE] = race_most(c[VM_DONE], c[VM_ISSUED] - vm);
  if (c[LGKM_ISSUED] > lgkm) c[LGKM_DONE] = race_most(c[LGKM_DONE], c[LGKM_ISSUED] - lgkm);
}

// One access of a wave, all lanes.
struct race_access {
  struct wave* W;
  struct races* R;
  const s_u64* address;   // for reports
  uint8_t* const* place;  // where the bytes are in this process
  const s_u32* const* in;  // what a store writes
  s_u64 mask, size, mode, space;
};

OUTLINE void race_report(const struct race_access* X, s_u64 lane, s_u64 earlier_place, s_u64 earlier_wave, s_u64 earlier_writes,
                         s_u64 collision) {
  struct race_launch* L = X->R->launch;
  const s_u64 place = X->R->place;
  for (s_u64 i = 0; i < L->record_count; ++i) {
    const struct race_record* r = &L->records[i];
    if (r->space != X->space || r->collision != collision) continue;
    if (r->place == place && (collision || r->earlier_place == earlier_place)) return;
    if (!collision && r->place == earlier_place && r->earlier_place == place) return;
  }
  if (L->record_count >= MOST_RECORDS) return;
  L->records[L->record_count++] = (struct race_record){X->space, lane, X->address[lane], place, X->mode != RACE_READ,
                                                       X->R->group->first + X->R->number, earlier_place, earlier_writes,
                                                       earlier_wave, collision};
}

INLINE uint8_t race_byte(const struct race_access* X, s_u64 lane, s_u64 number) {
  return (uint8_t)(X->in[number >> 2][lane] >> (8 * (number & 3)));
}

// Whether a store leaves bytes of a lane as they are.
INLINE int race_same(const struct race_access* X, s_u64 lane, s_u64 first, s_u64 count) {
  if (X->mode != RACE_WRITE) return 0;
  for (s_u64 i = first; i < first + count; ++i)
    if (X->place[lane][i] != race_byte(X, lane, i)) return 0;
  return 1;
}

// A byte that this very store has written before: looks for a lower lane that writes something else there.
OUTLINE void race_collide(const struct race_access* X, s_u64 lane) {
  for (s_u64 rest = X->mask & ((1ull << lane) - 1); rest; rest &= rest - 1) {
    const s_u64 other = (s_u64)__builtin_ctzll(rest);
    const int64_t distance = X->place[other] - X->place[lane];
    for (s_u64 i = 0; i < X->size; ++i) {
      const int64_t j = (int64_t)i - distance;
      if (j >= 0 && j < (int64_t)X->size && race_byte(X, lane, i) != race_byte(X, other, (s_u64)j)) {
        race_report(X, lane, 0, 0, 0, 1);
        return;
      }
    }
  }
}

// --- global memory -----------------------------------------------------------------------------------------------------

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

// --- LDS ---------------------------------------------------------------------------------------------------------------

// An atomic learns, where it returns what it found, what others knew who changed LDS there, and tells what it knows.
OUTLINE void race_synchronise(const struct race_access* X) {
  struct races* R = X->R;
  const s_u64 n = R->group->count;
  s_u64* mine = R->group->lds_clock + R->number * 2 * n;
  const s_u64* c = race_counters(R, R->number);
  R->group->atomics = 1;
  if (R->issue & RETURNS)
    EACH(lane, X->mask) {
      const s_u64* told = R->group->lds_sync + 2 * n * (X->address[lane] >> 2);
      for (s_u64 i = 0; i < 2 * n; ++i) mine[i] = race_most(mine[i], told[i]);
    }
  EACH(lane, X->mask) {
    s_u64* told = R->group->lds_sync + 2 * n * (X->address[lane] >> 2);
    for (s_u64 i = 0; i < 2 * n; ++i)
      told[i] = race_most(told[i], i == R->number ? c[LGKM_DONE] : i == n + R->number ? c[VM_DONE] : mine[i]);
  }
}

// One stamped place of LDS, a dword or a byte of one that is split: its slots lie `stride` apart, the last plain write first,
// then reads of each wave, then atomics of each wave.
struct race_limits {
  s_u64 of[MOST_AGENTS];  // up to which number each agent's accesses come before what the wave does now
  s_u64 count, atomics, stamp;
};

OUTLINE void race_lds_slow(const struct race_access* X, const struct race_limits* limits, const s_u64* slot, s_u64 stride,
                           s_u64 lane, s_u64 first, s_u64 count) {
  const struct race_group* G = X->R->group;
  const s_u64 wrote = slot[0], n = G->count;
  if (wrote == X->R->lds_stamp && X->mode == RACE_WRITE) race_collide(X, lane);
  if (wrote >> 32 > limits->of[wrote >> 1 & 0x7F] && !race_same(X, lane, first, count))
    race_report(X, lane, wrote >> 8 & 0xFFFFFF, G->first + (wrote >> 1 & 0x7F) % n, 1, 0);
  // reads do not race with reads, nor atomics with atomics
  for (s_u64 i = X->mode == RACE_READ ? n : 0; i < (X->mode == RACE_ATOMIC ? n : 2 * n); ++i) {
    const s_u64 other = slot[(1 + i) * stride], wave = i < n ? i : i - n;
    if (other >> 32 > limits->of[wave]) race_report(X, lane, other >> 8 & 0xFFFFFF, G->first + wave, i >= n, 0);
  }
}

INLINE void race_lds_touch(const struct race_access* X, const struct race_limits* limits, s_u64* slot, s_u64 stride,
                           s_u64 mine, s_u64 lane, s_u64 first, s_u64 count, s_u64 mode) {
  const s_u64 n = limits->count, wrote = slot[0];
  s_u64 wrong = wrote >> 32 > limits->of[wrote >> 1 & 0x7F];
  if (mode == RACE_WRITE) wrong |= wrote == limits->stamp;
  if (mode != RACE_READ)
    for (s_u64 i = 0; i < n; ++i) wrong |= slot[(1 + i) * stride] >> 32 > limits->of[i];
  if (mode != RACE_ATOMIC && limits->atomics)
    for (s_u64 i = 0; i < n; ++i) wrong |= slot[(1 + n + i) * stride] >> 32 > limits->of[i];
  if (wrong) race_lds_slow(X, limits, slot, stride, lane, first, count);
  slot[mine * stride] = limits->stamp;
}

// Gives each byte of a dword of LDS the dword's slots.
OUTLINE void race_lds_split(const struct race_group* G, s_u64 dword) {
  const s_u64 dwords = G->lds_dwords;
  if (G->lds_whole[dword] == SPLIT) return;
  for (s_u64 i = 0; i < 1 + 2 * G->count; ++i)
    for (s_u64 byte = 0; byte < 4; ++byte) G->lds_bytes[4 * (i * dwords + dword) + byte] = G->lds_whole[i * dwords + dword];
  G->lds_whole[dword] = SPLIT;
}

INLINE void race_lds_lane(const struct race_access* X, const struct race_limits* limits, s_u64 mine, s_u64 offset,
                          s_u64 lane, s_u64 size, s_u64 mode) {
  const struct race_group* G = X->R->group;
  const int whole = !(offset & 3) && !(size & 3);
  for (s_u64 at = 0; at < size;) {
    const s_u64 dword = (offset + at) >> 2;
    if (whole && G->lds_whole[dword] != SPLIT) {
      race_lds_touch(X, limits, G->lds_whole + dword, G->lds_dwords, mine, lane, at, 4, mode);
      at += 4;
      continue;
    }
    race_lds_split(G, dword);
    for (const s_u64 end = race_least(size, 4 * (dword + 1) - offset); at < end; ++at)
      race_lds_touch(X, limits, G->lds_bytes + offset + at, 4 * G->lds_dwords, mine, lane, at, 1, mode);
  }
}

#define RACE_LDS(name, MODE)                                                                                            \
  OUTLINE void race_lds_##name(struct wave* W, uint8_t* const* place, s_u64 mask, s_u64 size, const s_u32* const* in) { \
    struct races* R = W->races;                                                                                         \
    const struct race_group* G = R->group;                                                                              \
    const s_u64 n = G->count, me = R->number;                                                                           \
    s_u64 address[LANES];                                                                                               \
    struct race_limits limits = {.count = n, .atomics = G->atomics, .stamp = R->lds_stamp};                             \
    const struct race_access X = {W, R, address, place, in, mask, size, MODE, IN_LDS};                                  \
    EACH(lane, mask) address[lane] = (s_u64)(place[lane] - W->lds);                                                     \
    if (MODE == RACE_ATOMIC) race_synchronise(&X);                                                                      \
    for (s_u64 i = 0; i < 2 * n; ++i) limits.of[i] = G->lds_clock[me * 2 * n + i];                                      \
    const int loads = !!(R->issue & TO_LDS);                                                                            \
    limits.of[me] = loads ? race_counters(R, me)[LGKM_DONE] : ~0ull;                                                    \
    limits.of[n + me] = loads ? ~0ull : race_counters(R, me)[VM_DONE];                                                  \
    const s_u64 mine = MODE == RACE_WRITE ? 0 : MODE == RACE_READ ? 1 + me : 1 + n + me;                                \
    EACH(lane, mask) race_lds_lane(&X, &limits, mine, address[lane], lane, size, MODE);                                 \
  }

RACE_LDS(read, RACE_READ)
RACE_LDS(write, RACE_WRITE)
RACE_LDS(atomic, RACE_ATOMIC)

INLINE void race_lds(struct wave* W, uint8_t* const* place, s_u64 mask, s_u64 size, s_u64 mode, const s_u32* const* in) {
  if (mode == RACE_READ) race_lds_read(W, place, mask, size, in);
  else if (mode == RACE_WRITE) race_lds_write(W, place, mask, size, in);
  else race_lds_atomic(W, place, mask, size, in);
}
