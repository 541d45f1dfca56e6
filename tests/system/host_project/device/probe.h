// Launches of the probe: each returns the hipError_t of its launch.
#pragma once

#include <stdint.h>

struct Extent {
  unsigned int x, y, z;
};

// out[i] = x[i] * factor
int launch_scale(const float* x, float* out, int n, float factor, void* stream);
// out[i] = x[i] + by, or its negative
int launch_shift(const int64_t* x, int64_t* out, int n, int64_t by, bool flip, void* stream);
// Writes one element behind out, or the first of x.
int launch_overrun(const float* x, float* out, int n, void* stream);
int launch_spoil(float* x, float* out, int n, void* stream);
// Writes the number of its workgroup through dynamic LDS, for a grid of any extent.
int launch_number(float* out, Extent grid, unsigned int threads, unsigned int lds, void* stream);
// out[0] = 1 and some ulp, from whichever of eight workgroups comes last
void launch_last(float* out, void* stream);
// out[i] = 1 / sqrt(|x[i]|) by the instruction alone
void launch_root(const float* x, float* out, int n, void* stream);
const char* error_text(int error);
