"""Timing on a GPU, by ``kernels benchmark`` on a local copy of the published kernel; its card says how."""

import torch
from kernels.benchmark import Benchmark

SCALE_BLOCK = 128


class GemmBenchmark(Benchmark):
    """Shapes of a large language model's layers, in the layouts that they are usually stored in."""

    seed: int = 0

    def _make(self, m: int, n: int, k: int) -> None:
        blocks = k // SCALE_BLOCK
        self.a = torch.randn(m, k, device=self.device).to(torch.float8_e4m3fnuz)
        self.b = torch.randn(n, k, device=self.device).to(torch.float8_e4m3fnuz).t()
        self.a_scale = torch.randn(blocks, m, device=self.device)
        self.b_scale = torch.randn(blocks, -(-n // SCALE_BLOCK), device=self.device)
        self.out = torch.empty(m, n, dtype=torch.bfloat16, device=self.device)

    def _run(self) -> None:
        self.kernel.gemm(self.a, self.b, self.a_scale, self.b_scale, out=self.out)

    def _reference(self) -> torch.Tensor:
        n = self.b.shape[1]
        result = torch.zeros(self.out.shape, device=self.device)
        for block in range(self.a_scale.shape[0]):
            k = slice(block * SCALE_BLOCK, (block + 1) * SCALE_BLOCK)
            columns = self.b_scale[block].repeat_interleave(SCALE_BLOCK)[:n]
            result += self.a_scale[block][:, None] * columns * (self.a[:, k].float() @ self.b[k].float())
        return result.to(torch.bfloat16)

    def setup_decode(self) -> None:
        """Few rows, as when tokens are generated one by one."""
        self._make(64, 7168, 2048)

    def benchmark_decode(self) -> None:
        """Run the decode shape."""
        self._run()

    def verify_decode(self) -> torch.Tensor:
        """Return what ``out`` should hold."""
        return self._reference()

    def setup_prefill(self) -> None:
        """Many rows, as when a prompt is read."""
        self._make(6144, 1536, 7168)

    def benchmark_prefill(self) -> None:
        """Run the prefill shape."""
        self._run()

    def verify_prefill(self) -> torch.Tensor:
        """Return what ``out`` should hold."""
        return self._reference()
