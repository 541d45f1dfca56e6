#pragma once

#include <torch/csrc/stable/tensor.h>

// C = A B for e4m3fnuz a (M, K) and b (K, N) with fp32 block scales; returns a new bf16 tensor (M, N).
torch::stable::Tensor gemm(const torch::stable::Tensor& a, const torch::stable::Tensor& b,
                           const torch::stable::Tensor& a_scale, const torch::stable::Tensor& b_scale);

// The same into an existing tensor. It returns nothing, because an op that returns an argument that it has written to
// fails under torch.compile.
void gemm_out(const torch::stable::Tensor& a, const torch::stable::Tensor& b, const torch::stable::Tensor& a_scale,
              const torch::stable::Tensor& b_scale, torch::stable::Tensor& out);
