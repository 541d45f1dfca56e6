// The seam between the Torch binding and the HIP source: neither sees the other's headers.

#pragma once

#include <stdint.h>

namespace rocmatrix_gemm {

// One scale covers this many consecutive k of a row of A, and a square of this size of B.
constexpr int kScaleBlock = 128;

// A workgroup computes a kTileM x kTileN tile of C.
constexpr int kTileM = 128;
constexpr int kTileN = 128;
constexpr int kThreads = 256;

// M, N and K are 32-bit in the kernel, which also forms indices up to one tile past their end.
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 128;

// The grid is one-dimensional, and a dispatch packet counts its work-items in 32 bits.
constexpr int64_t kMaxTiles = ((int64_t{1} << 32) - 1) / kThreads;

// Tiles of C; the launch accepts up to kMaxTiles.
constexpr int64_t tile_count(int64_t m, int64_t n) {
  return ((m + kTileM - 1) / kTileM) * ((n + kTileN - 1) / kTileN);
}

// Which of an operand's two axes is contiguous in memory: K, or the one that it shares with C.
enum class Contiguous { kK, kRow };

// C = A B with block scales; device pointers, sizes within kMaxExtent and kMaxTiles, K a multiple of kScaleBlock.
struct Problem {
  const void* a;         // e4m3fnuz (M, K)
  const void* b;         // e4m3fnuz (K, N)
  const float* a_scale;  // (K / 128, M), contiguous
  const float* b_scale;  // (K / 128, ceil(N / 128)), contiguous
  void* out;             // bf16 (M, N), contiguous
  int32_t m;
  int32_t n;
  int32_t k;
  Contiguous a_contiguous;
  Contiguous b_contiguous;
};

// Queues the kernel on a hipStream_t of the current device. Returns the hipError_t: 0 is success.
int launch(const Problem& problem, void* stream);

// The HIP runtime's own words for a hipError_t.
const char* error_text(int error);

}  // namespace rocmatrix_gemm
