"""Multiply two matrices with block scales. Needs a ROCm build of torch, an MI300X and ``pip install kernels``."""

import torch
from kernels import get_kernel

kernel = get_kernel("rocmatrix/gemm", version=1, trust_remote_code=["rocmatrix/gemm"])

m, n, k = 256, 512, 1024
a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fnuz)
b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fnuz).t()
a_scale = torch.rand(k // 128, m, device="cuda")
b_scale = torch.rand(k // 128, n // 128, device="cuda")

c = kernel.gemm(a, b, a_scale, b_scale)
print(c.shape, c.dtype)
