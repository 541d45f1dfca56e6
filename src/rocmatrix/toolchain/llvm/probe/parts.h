// What the probe throws; the names and the messages that must arrive are in probe.py, in this order.
#pragma once

enum class Part {
  kStream,
  kStoi,
  kAt,
  kPointer,
  kAsync,
  kThread,
  kMakePointer,
  kNested,
  kSystem,
  kRegex,
  kFilesystem,
  kBadAlloc,
  kBadCast,
  kLibstdcxx,
  kUncaught,
  kCount,
};
