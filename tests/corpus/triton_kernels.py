"""Kernels in Triton, whose compiler no one here wrote; only the process that compiles them imports this module."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, PLR0917 - Triton's language: capitals are constants of the compilation

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    """Add two vectors."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    tl.store(out + place, tl.load(x + place, mask=inside) + tl.load(y + place, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of each row."""
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < columns
    value = tl.load(x + row * columns + place, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + place, power / tl.sum(power, axis=0), mask=inside)


@triton.jit
def layer_norm(x, weight, out, columns, EPSILON: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of mean 0 and variance 1, scaled."""
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < columns
    value = tl.load(x + row * columns + place, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / columns, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + EPSILON)
    factor = tl.load(weight + place, mask=inside).to(tl.float32)
    tl.store(out + row * columns + place, centred * scale * factor, mask=inside)


@triton.jit
def sum_by_atomics(x, out, count, BLOCK: tl.constexpr):
    """Sum of a vector: each program adds its part."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + place, mask=place < count, other=0.0), axis=0))


@triton.jit
def histogram_by_atomics(x, out, count, BLOCK: tl.constexpr):
    """How often each of some numbers occurs: lanes of one instruction add to the same places."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    number = tl.load(x + place, mask=inside, other=0)
    tl.atomic_add(out + number, tl.full((BLOCK,), 1, tl.int32), mask=inside)


@triton.jit
def maximum_by_atomics(x, out, count, BLOCK: tl.constexpr):
    """Largest element of a vector of integers."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place, mask=place < count, other=-2147483648)
    tl.atomic_max(out, tl.max(value, axis=0))


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    """Sums of each row up to each of its elements."""
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < columns
    value = tl.load(x + row * columns + place, mask=inside, other=0)
    tl.store(out + row * columns + place, tl.cumsum(value, axis=0), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, INTEGER: tl.constexpr):
    """C = A B of row-major matrices, any sizes, sums in float32 or int32."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.int32 if INTEGER else tl.float32)
    zero = 0 if INTEGER else 0.0
    for start in range(0, K, BK):
        depth = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * K + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=zero
        )
        right = tl.load(
            b + depth[:, None] * N + columns[None, :], mask=(depth[:, None] < K) & (columns[None, :] < N), other=zero
        )
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def attention(q, k, v, out, length, SCALE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention of one head with a running softmax: one product feeds the other."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :], mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        columns = start + tl.arange(0, BN)
        inside = columns < length
        key = tl.load(k + columns[None, :] * D + depth[:, None], mask=inside[None, :], other=0.0)
        score = tl.where(inside[None, :], tl.dot(query, key) * SCALE, -float("inf"))
        now = tl.maximum(largest, tl.max(score, axis=1))
        power = tl.exp(score - now[:, None])
        shrink = tl.exp(largest - now)
        weight = weight * shrink + tl.sum(power, axis=1)
        value = tl.load(v + columns[:, None] * D + depth[None, :], mask=inside[:, None], other=0.0)
        total = total * shrink[:, None] + tl.dot(power.to(value.dtype), value)
        largest = now
    tl.store(out + rows[:, None] * D + depth[None, :], total / weight[:, None], mask=rows[:, None] < length)
