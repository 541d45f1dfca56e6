"""Calls of the gemm kernel that tests make: right ones, and every kind of wrong one with what the refusal must say.

Torch is handed in by the caller: this module is read in processes that have none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

SHAPE = (130, 200, 256)
"""M, N, K of the right calls: ragged in M and N, two scale blocks in K."""

OTHER_SHAPE = (77, 300, 512)
"""Another right shape, which shares no extent with ``SHAPE``."""

LAYOUTS = ("nn", "nt", "tn", "tt")
"""Of a and b: ``n`` for contiguous, ``t`` for the transpose of a contiguous tensor."""

Arguments = dict[str, Any]
"""Name -> tensor; ``out`` is there for a call of the out-variant only."""

Change = Callable[[ModuleType, Arguments], Arguments]
"""Takes torch and right arguments with ``out``, and returns wrong ones on the same device."""


def make_arguments(
    torch: ModuleType, shape: tuple[int, int, int], layouts: str = "nn", device: str = "cpu"
) -> Arguments:
    """Return right arguments without ``out``."""
    m, n, k = shape
    blocks_k, blocks_n = -(-k // 128), -(-n // 128)

    def operand(rows: int, columns: int, layout: str) -> Any:
        strides = (columns, 1) if layout == "n" else (1, rows)
        return torch.empty_strided((rows, columns), strides, dtype=torch.float8_e4m3fnuz, device=device)

    return {
        "a": operand(m, k, layouts[0]),
        "b": operand(k, n, layouts[1]),
        "a_scale": torch.ones((blocks_k, m), device=device),
        "b_scale": torch.ones((blocks_k, blocks_n), device=device),
    }


def make_out(torch: ModuleType, shape: tuple[int, int, int], device: str = "cpu") -> Any:
    """Return a right ``out``."""
    return torch.empty(shape[:2], dtype=torch.bfloat16, device=device)


@dataclass(frozen=True, kw_only=True)
class WrongCall:
    """A call that must be refused.

    Attributes:
        name: of the call; begins with ``out`` if only the out-variant can be called so.
        says: parts that the refusal's text must have: the argument, what would be accepted, what was found.
        traced: whether a call with fake tensors must be refused too.
    """

    name: str
    change: Change
    says: tuple[str, ...]
    traced: bool = True


def _like(name: str, **changes: Any) -> Change:
    """Replace an argument by one that differs in ``shape``, ``strides``, ``dtype`` (its name) or ``device``."""

    def change(torch: ModuleType, right: Arguments) -> Arguments:
        tensor = right[name]
        shape = changes.get("shape", tuple(tensor.shape))
        strides = changes.get("strides") or torch.empty(shape, device="meta").stride()
        dtype = getattr(torch, changes["dtype"]) if "dtype" in changes else tensor.dtype
        device = changes.get("device", tensor.device)
        return {**right, name: torch.empty_strided(shape, strides, dtype=dtype, device=device)}

    return change


def _of_shape(*shape: int) -> Change:
    """Replace all arguments by ones that are consistent for M, N, K."""
    m, n, k = shape

    def change(torch: ModuleType, right: Arguments) -> Arguments:
        device = str(right["a"].device)
        made = make_arguments(torch, (m, n, k), device=device)
        return {**made, "out": make_out(torch, (m, n, k), device=device)}

    return change


def _sharing_memory(torch: ModuleType, right: Arguments) -> Arguments:
    m, n, k = SHAPE
    memory = torch.zeros(m * max(k, 2 * n), dtype=torch.uint8)
    a = memory[: m * k].view(right["a"].dtype).view(m, k)
    return {**right, "a": a, "out": memory[: m * n * 2].view(torch.bfloat16).view(m, n)}


_FP8 = "float8_e4m3fnuz"
_DTYPES = (
    WrongCall(name="a-in-half-precision", change=_like("a", dtype="float16"), says=("a ", _FP8)),
    WrongCall(name="a-of-the-other-fp8", change=_like("a", dtype="float8_e4m3fn"), says=("a ", _FP8)),
    WrongCall(name="b-in-half-precision", change=_like("b", dtype="float16"), says=("b ", _FP8)),
    WrongCall(name="a_scale-in-double", change=_like("a_scale", dtype="float64"), says=("a_scale", "float32")),
    WrongCall(name="b_scale-in-bfloat16", change=_like("b_scale", dtype="bfloat16"), says=("b_scale", "float32")),
    WrongCall(name="out-in-float32", change=_like("out", dtype="float32"), says=("out", "bfloat16")),
)
_SHAPES = (
    WrongCall(name="k-not-a-multiple-of-128", change=_of_shape(16, 16, 192), says=("K", "128", "192")),
    WrongCall(name="k-of-zero", change=_of_shape(16, 16, 0), says=("K", "128")),
    WrongCall(name="m-of-zero", change=_of_shape(0, 16, 128), says=("M", "at least 1")),
    WrongCall(name="n-of-zero", change=_of_shape(16, 0, 128), says=("N", "at least 1")),
    WrongCall(name="b-with-another-k", change=_like("b", shape=(512, 200)), says=("K", "256", "512")),
    WrongCall(name="a-of-one-dimension", change=_like("a", shape=(256,)), says=("a ", "2 dimensions")),
    WrongCall(name="b-of-three-dimensions", change=_like("b", shape=(1, 256, 200)), says=("b ", "2 dimensions")),
    WrongCall(name="a_scale-of-one-dimension", change=_like("a_scale", shape=(260,)), says=("a_scale", "2 dimensions")),
    WrongCall(name="a_scale-too-wide", change=_like("a_scale", shape=(2, 131)), says=("a_scale", "(2, 130)")),
    WrongCall(name="a_scale-the-other-way", change=_like("a_scale", shape=(130, 2)), says=("a_scale", "(2, 130)")),
    WrongCall(name="b_scale-too-narrow", change=_like("b_scale", shape=(2, 1)), says=("b_scale", "(2, 2)")),
    WrongCall(name="out-too-large", change=_like("out", shape=(130, 201)), says=("out", "(130, 200)")),
    WrongCall(name="out-of-one-dimension", change=_like("out", shape=(26000,)), says=("out", "2 dimensions")),
)
_STRIDES = (
    WrongCall(name="a-with-padded-rows", change=_like("a", strides=(272, 1)), says=("a ", "contiguous", "272")),
    WrongCall(name="a-with-gaps", change=_like("a", strides=(512, 2)), says=("a ", "contiguous", "512")),
    WrongCall(name="a-of-one-row-repeated", change=_like("a", strides=(0, 1)), says=("a ", "contiguous")),
    WrongCall(name="b-with-padded-rows", change=_like("b", strides=(216, 1)), says=("b ", "contiguous", "216")),
    WrongCall(name="b-with-padded-columns", change=_like("b", strides=(1, 272)), says=("b ", "contiguous", "272")),
    WrongCall(name="a_scale-transposed", change=_like("a_scale", strides=(1, 2)), says=("a_scale", "contiguous")),
    WrongCall(name="b_scale-transposed", change=_like("b_scale", strides=(1, 2)), says=("b_scale", "contiguous")),
    WrongCall(name="out-transposed", change=_like("out", strides=(1, 130)), says=("out", "contiguous")),
)
_MEMORY = (
    WrongCall(name="out-in-the-memory-of-a", change=_sharing_memory, says=("out", "memory", "a"), traced=False),
    WrongCall(name="b-on-another-device", change=_like("b", device="meta"), says=("b", "GPU")),
    WrongCall(name="a_scale-on-another-device", change=_like("a_scale", device="meta"), says=("a_scale", "GPU")),
    WrongCall(name="out-on-another-device", change=_like("out", device="meta"), says=("out", "GPU")),
)

WRONG_CALLS = {call.name: call for call in (*_DTYPES, *_SHAPES, *_STRIDES, *_MEMORY)}
