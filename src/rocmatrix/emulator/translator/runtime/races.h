// The race detector of generated code: its structures, clocks and reports. What an access of global memory and of LDS does
// with stamps is in global_races.h and lds_races.h. rocmatrix.emulator.races has the words and the rules, and the same in
// NumPy; rocmatrix.emulator.translator.race_memory has the same structures.
//
// Stamps are kept for dwords. One of which only some bytes were accessed is split: its first slot says so, and each of its
// bytes has slots of its own.

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
