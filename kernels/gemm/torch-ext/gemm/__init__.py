"""FP8 e4m3fnuz block-scaled GEMM for gfx942 (MI300X)."""

from __future__ import annotations

import torch

from . import _fake  # noqa: F401 - registers the fake implementations
from ._ops import ops

__all__ = ["gemm"]


def gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scale: torch.Tensor,
    b_scale: torch.Tensor,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return ``C = A B`` with block scales, accumulated in float32 and rounded to bfloat16.

    ``C[m, n]`` is the sum over the blocks ``kb`` of 128 consecutive ``k`` of
    ``a_scale[kb, m] * b_scale[kb, n // 128] * sum(a[m, k] * b[k, n] for k in block kb)``.

    Args:
        a: ``(M, K)``, ``torch.float8_e4m3fnuz``; contiguous, or the transpose of a contiguous tensor. M is at least 1,
            K a positive multiple of 128.
        b: ``(K, N)``, ``torch.float8_e4m3fnuz``; contiguous, or the transpose of a contiguous tensor. N is at least 1.
        a_scale: ``(K / 128, M)``, ``torch.float32``, contiguous.
        b_scale: ``(K / 128, ceil(N / 128))``, ``torch.float32``, contiguous.
        out: ``(M, N)``, ``torch.bfloat16``, contiguous, sharing no memory with the inputs; made if it is not given.

    Returns:
        ``out``, or the new tensor. The work is queued on the current stream of the tensors' device.

    Raises:
        RuntimeError: an argument has another device, dtype, shape or layout (the text says what is accepted), or the
            kernel could not be launched (the text has the HIP error's number and name).
        NotImplementedError: all arguments are on the CPU.
    """
    if out is None:
        return ops.gemm(a, b, a_scale, b_scale)
    ops.gemm_out(a, b, a_scale, b_scale, out)
    return out
