// Races in LDS: what an access does with stamps (rocmatrix.emulator.races.lds_bytes).

#pragma once

#include "races.h"

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
