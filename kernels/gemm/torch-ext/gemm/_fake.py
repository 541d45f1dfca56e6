"""Fake implementations: what torch.compile learns of a call without running it.

They refuse what the binding refuses, except for two things: memory shared with ``out``, because only real tensors have
addresses, and sizes beyond the kernel's index arithmetic, because that would cost every trace a guard.
"""

# ruff: noqa: SLF001 - torch._check is torch's documented way to refuse an argument in a fake implementation
from __future__ import annotations

import torch

from ._ops import add_op_namespace_prefix

SCALE_BLOCK = 128


def _check_matrix(tensor: torch.Tensor, name: str, dtype: torch.dtype) -> None:
    torch._check(tensor.dtype == dtype, lambda: f"gemm: {name} must be {dtype}, got {tensor.dtype}")
    torch._check(tensor.dim() == 2, lambda: f"gemm: {name} must have 2 dimensions, got shape {tuple(tensor.shape)}")


def _check_shape(tensor: torch.Tensor, name: str, meaning: str, rows: int, columns: int) -> None:
    def message() -> str:
        return f"gemm: {name} must have shape {meaning} = ({rows}, {columns}), got {tuple(tensor.shape)}"

    torch._check(tensor.shape[0] == rows, message)
    torch._check(tensor.shape[1] == columns, message)


def _moves_fastest(tensor: torch.Tensor, axis: int) -> bool:
    """Say whether the matrix is dense in memory with this axis contiguous; strides of one-element axes say nothing.

    A stride that is literally right is compared first, so that a symbolic size is not asked whether it is 1.
    """
    other = 1 - axis
    return (tensor.stride(axis) == 1 or tensor.shape[axis] == 1) and (
        tensor.stride(other) == tensor.shape[axis] or tensor.shape[other] == 1
    )


def _check_layout(tensor: torch.Tensor, name: str, accepted: str, axes: tuple[int, ...]) -> None:
    torch._check(
        any(_moves_fastest(tensor, axis) for axis in axes),
        lambda: (
            f"gemm: {name} must be {accepted}, got strides {tuple(tensor.stride())} for shape "
            f"{tuple(tensor.shape)}; pass {name}.contiguous()"
        ),
    )


def _check_device(tensor: torch.Tensor, name: str, a: torch.Tensor) -> None:
    torch._check(
        tensor.device == a.device,
        lambda: (
            f"gemm: a, b, a_scale, b_scale and out must be on one GPU, but a is on {a.device} "
            f"and {name} on {tensor.device}"
        ),
    )


def _check_inputs(a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> None:
    torch._check(a.device.type in ("cuda", "meta"), lambda: f"gemm: a must be on a ROCm GPU, got {a.device}")
    for name, tensor in (("b", b), ("a_scale", a_scale), ("b_scale", b_scale)):
        _check_device(tensor, name, a)
    _check_matrix(a, "a", torch.float8_e4m3fnuz)
    _check_matrix(b, "b", torch.float8_e4m3fnuz)
    _check_matrix(a_scale, "a_scale", torch.float32)
    _check_matrix(b_scale, "b_scale", torch.float32)

    m, k = a.shape
    n = b.shape[1]
    torch._check(
        b.shape[0] == k,
        lambda: f"gemm: a (M, K) and b (K, N) must agree in K, got a {tuple(a.shape)} and b {tuple(b.shape)}",
    )
    for size in (m, n):
        torch._check(size >= 1, lambda: f"gemm: M and N must be at least 1, got M = {m} and N = {n}")
    for right in (k >= SCALE_BLOCK, k % SCALE_BLOCK == 0):
        torch._check(right, lambda: f"gemm: K must be a positive multiple of {SCALE_BLOCK}, got K = {k}")
    _check_shape(a_scale, "a_scale", "(K / 128, M)", k // SCALE_BLOCK, m)
    _check_shape(b_scale, "b_scale", "(K / 128, ceil(N / 128))", k // SCALE_BLOCK, (n + SCALE_BLOCK - 1) // SCALE_BLOCK)
    _check_layout(a_scale, "a_scale", "contiguous", (1,))
    _check_layout(b_scale, "b_scale", "contiguous", (1,))
    _check_layout(a, "a", "contiguous or the transpose of a contiguous tensor", (1, 0))
    _check_layout(b, "b", "contiguous or the transpose of a contiguous tensor", (1, 0))


@torch.library.register_fake(add_op_namespace_prefix("gemm"))
def _gemm(a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    _check_inputs(a, b, a_scale, b_scale)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.bfloat16)


@torch.library.register_fake(add_op_namespace_prefix("gemm_out"))
def _gemm_out(
    a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor, out: torch.Tensor
) -> None:
    _check_inputs(a, b, a_scale, b_scale)
    _check_device(out, "out", a)
    _check_matrix(out, "out", torch.bfloat16)
    _check_shape(out, "out", "(M, N)", a.shape[0], b.shape[1])
    _check_layout(out, "out", "contiguous", (1,))
