// FP8 e4m3fnuz block-scaled GEMM on gfx942's matrix cores:
//
//   C[m, n] = sum over kb of a_scale[kb, m] * b_scale[kb, n / 128] * (sum over k in block kb of A[m, k] * B[k, n])
//
// in fp32, rounded to bf16 at the end. A workgroup of four wavefronts computes a 128 x 128 tile of C and walks along K in
// steps of one scale block. Each step stages a 128 x 128 tile of either operand in LDS as [row][k], whatever the layout in
// memory, where "row" is m for A and n for B. While the matrix cores work on one step, the next one's bytes are on their
// way from memory to registers.

#pragma once

#include <hip/hip_runtime.h>
#include <stdint.h>

#include "gemm_launch.h"

namespace rocmatrix_gemm {

using Floats = float __attribute__((ext_vector_type(4)));

// 16 bytes of one row, consecutive in k: what one LDS access of a lane moves.
using Chunk = uint32_t __attribute__((ext_vector_type(4)));

constexpr int kStepK = kScaleBlock;
constexpr int kTileRows = 128;
constexpr int kChunkBytes = 16;
constexpr int kChunksPerRow = kStepK / kChunkBytes;
constexpr int kChunksPerThread = kTileRows * kChunksPerRow / kThreads;
static_assert(kTileM == kTileRows && kTileN == kTileRows, "both operands are staged by the same code");
static_assert(kTileN == kScaleBlock, "a tile of C lies within one column of b_scale");
static_assert(kStepK % kScaleBlock == 0 && kChunksPerThread == 4, "the staging below counts on it");

// Rows are one chunk longer than their content, so that eight adjacent rows start in different banks.
using Tile = Chunk[kTileRows][kChunksPerRow + 1];

// v_mfma_f32_16x16x32_fp8_fp8: D (16 x 16) += A (16 x 32) B (32 x 16). Lane l gives row l % 16 of A and column l % 16 of B,
// in both k = 8 * (l / 16) ... + 7, and holds D[4 * (l / 16) + r][l % 16] in register r (CDNA 3 ISA document, chapter on
// matrix instructions).
constexpr int kSubtile = 16;
constexpr int kWaveTile = 64;  // four wavefronts, two by two
constexpr int kSubtiles = kWaveTile / kSubtile;

// One operand as rows x k e4m3fnuz bytes.
struct Operand {
  const uint8_t* data;
  int rows;
  int k;
};

// Loads through memcpy make no promise about alignment: a tensor may start at any byte.
__device__ inline Chunk load_chunk(const uint8_t* address) {
  Chunk chunk;
  __builtin_memcpy(&chunk, address, sizeof(chunk));
  return chunk;
}

// Four bytes, of which only the first `valid` exist, perhaps none; the others read as zero.
__device__ inline uint32_t load_word(const uint8_t* address, int valid) {
  uint32_t word = 0;
  if (valid >= 4) {
    __builtin_memcpy(&word, address, sizeof(word));
    return word;
  }
  for (int i = 0; i < 3; ++i) {
    if (i < valid) word |= static_cast<uint32_t>(address[i]) << (8 * i);
  }
  return word;
}

// Brings one operand's tile from memory to LDS in two halves, with time between them for the loads to arrive:
// `load` issues them into registers, `store` writes the tile. Rows past the operand's end become zeros.
template <Contiguous kContiguous>
struct Stager;

// Memory is [row][k]: a thread moves four chunks as they are.
template <>
struct Stager<Contiguous::kK> {
  Chunk chunks[kChunksPerThread];

  __device__ static int row_of(int thread, int i) { return (thread + i * kThreads) / kChunksPerRow; }
  __device__ static int chunk_of(int thread) { return thread % kChunksPerRow; }

  __device__ void load(const Operand& operand, int first_row, int first_k, int thread) {
    const int k = first_k + chunk_of(thread) * kChunkBytes;
    for (int i = 0; i < kChunksPerThread; ++i) {
      const int row = first_row + row_of(thread, i);
      chunks[i] = row < operand.rows ? load_chunk(operand.data + static_cast<int64_t>(row) * operand.k + k) : Chunk{};
    }
  }

  __device__ void store(Tile& tile, int thread) const {
    for (int i = 0; i < kChunksPerThread; ++i) tile[row_of(thread, i)][chunk_of(thread)] = chunks[i];
  }
};

// Memory is [k][row]: a thread takes four adjacent rows of sixteen k, and transposes them in registers.
template <>
struct Stager<Contiguous::kRow> {
  static constexpr int kRows = 4;
  uint32_t words[kChunkBytes];  // one per k, a byte per row

  __device__ static int row_of(int thread) { return thread % (kTileRows / kRows) * kRows; }
  __device__ static int chunk_of(int thread) { return thread / (kTileRows / kRows); }

  __device__ void load(const Operand& operand, int first_row, int first_k, int thread) {
    const int row = first_row + row_of(thread);
    const int k = first_k + chunk_of(thread) * kChunkBytes;
    for (int i = 0; i < kChunkBytes; ++i) {
      words[i] = load_word(operand.data + static_cast<int64_t>(k + i) * operand.rows + row, operand.rows - row);
    }
  }

  __device__ void store(Tile& tile, int thread) const {
    for (int row = 0; row < kRows; ++row) {
      Chunk chunk;
      for (int word = 0; word < 4; ++word) {
        uint32_t bytes = 0;
        for (int i = 0; i < 4; ++i) bytes |= (words[4 * word + i] >> (8 * row) & 0xffu) << (8 * i);
        chunk[word] = bytes;
      }
      tile[row_of(thread) + row][chunk_of(thread)] = chunk;
    }
  }
};

// Half of a chunk, as the matrix instruction takes it.
__device__ inline long half_of(const Chunk& chunk, int half) {
  const uint64_t low = half == 0 ? chunk.x : chunk.z;
  const uint64_t high = half == 0 ? chunk.y : chunk.w;
  return static_cast<long>(high << 32 | low);
}

// Round to nearest even. NaN stays NaN: rounding its bits could carry out of it. It is told by its bits, because a compiler
// that is told to be fast with floats may take value != value for false.
__device__ inline uint16_t to_bf16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Adds one K step of a wavefront's 64 x 64 tile, unscaled, to sums[n subtile][m subtile].
//
// B's rows go in as the instruction's A and A's rows as its B, so that a lane ends up with four adjacent n of one m: one
// row scale, and one 8-byte store. A lane's 16-byte chunk feeds two instructions with 8 bytes each; the k that meet in one
// instruction are therefore not consecutive, but they are the same k on both sides, and the sum does not mind the order.
__device__ inline void multiply_step(const Tile& a_tile, const Tile& b_tile, int wave_m, int wave_n, int lane,
                                     Floats (&sums)[kSubtiles][kSubtiles]) {
  const int lane_row = lane % kSubtile;
  const int lane_chunk = lane / kSubtile;
  for (int first_chunk = 0; first_chunk < kChunksPerRow; first_chunk += 4) {
    Chunk a[kSubtiles];
    Chunk b[kSubtiles];
    for (int i = 0; i < kSubtiles; ++i) {
      a[i] = a_tile[wave_m + i * kSubtile + lane_row][first_chunk + lane_chunk];
      b[i] = b_tile[wave_n + i * kSubtile + lane_row][first_chunk + lane_chunk];
    }
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < kSubtiles; ++j) {
        for (int i = 0; i < kSubtiles; ++i) {
          sums[j][i] =
              __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(half_of(b[j], half), half_of(a[i], half), sums[j][i], 0, 0, 0);
        }
      }
    }
  }
}

// Four adjacent columns of one row of C, of which only the first `valid` exist: perhaps none.
__device__ inline void store_columns(uint16_t* address, const Floats& values, int valid) {
  uint16_t rounded[4];
  for (int i = 0; i < 4; ++i) rounded[i] = to_bf16(values[i]);
  if (valid >= 4) {
    __builtin_memcpy(address, rounded, sizeof(rounded));
    return;
  }
  for (int i = 0; i < 3; ++i) {
    if (i < valid) address[i] = rounded[i];
  }
}

template <Contiguous kContiguousA, Contiguous kContiguousB>
__global__ void __launch_bounds__(kThreads)
    gemm_kernel(const uint8_t* __restrict__ a, const uint8_t* __restrict__ b, const float* __restrict__ a_scale,
                const float* __restrict__ b_scale, uint16_t* __restrict__ out, int m, int n, int k) {
  __shared__ Tile a_tile;
  __shared__ Tile b_tile;

  const Operand a_operand{a, m, k};
  const Operand b_operand{b, n, k};
  const int thread = threadIdx.x;
  const int lane = thread % 64;
  const int wave = thread / 64;
  const int wave_m = wave % 2 * kWaveTile;
  const int wave_n = wave / 2 * kWaveTile;

  // Neighbouring workgroups share a tile of B.
  const int tiles_m = (m + kTileM - 1) / kTileM;
  const int tile = blockIdx.x;
  const int first_m = tile % tiles_m * kTileM;
  const int first_n = tile / tiles_m * kTileN;
  const int scale_columns = (n + kScaleBlock - 1) / kScaleBlock;
  const int scale_column = first_n / kScaleBlock;

  Floats total[kSubtiles][kSubtiles] = {};
  Stager<kContiguousA> a_stager;
  Stager<kContiguousB> b_stager;
  a_stager.load(a_operand, first_m, 0, thread);
  b_stager.load(b_operand, first_n, 0, thread);

  for (int step = 0; step < k / kStepK; ++step) {
    __syncthreads();  // the previous step's tiles have been read
    a_stager.store(a_tile, thread);
    b_stager.store(b_tile, thread);
    __syncthreads();

    if (step + 1 < k / kStepK) {
      a_stager.load(a_operand, first_m, (step + 1) * kStepK, thread);
      b_stager.load(b_operand, first_n, (step + 1) * kStepK, thread);
    }

    const float column_scale = b_scale[static_cast<int64_t>(step) * scale_columns + scale_column];
    float scale[kSubtiles];
    for (int i = 0; i < kSubtiles; ++i) {
      const int row = first_m + wave_m + i * kSubtile + lane % kSubtile;
      scale[i] = row < m ? a_scale[static_cast<int64_t>(step) * m + row] * column_scale : 0.0f;
    }

    Floats sums[kSubtiles][kSubtiles] = {};
    multiply_step(a_tile, b_tile, wave_m, wave_n, lane, sums);
    for (int j = 0; j < kSubtiles; ++j) {
      for (int i = 0; i < kSubtiles; ++i) total[j][i] += sums[j][i] * scale[i];
    }
  }

  for (int i = 0; i < kSubtiles; ++i) {
    const int row = first_m + wave_m + i * kSubtile + lane % kSubtile;
    if (row >= m) continue;
    for (int j = 0; j < kSubtiles; ++j) {
      const int column = first_n + wave_n + j * kSubtile + lane / kSubtile * 4;
      store_columns(out + static_cast<int64_t>(row) * n + column, total[j][i], n - column);
    }
  }
}

}  // namespace rocmatrix_gemm
