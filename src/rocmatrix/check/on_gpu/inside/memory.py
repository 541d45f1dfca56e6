"""Tensors in the middle of poisoned memory: who writes beside one, or into an argument, is seen afterwards."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from pathlib import Path

import torch

from .wire import Argument

GUARD = 4096
"""Bytes on either side; a multiple of what torch aligns to, so that a tensor is aligned as usual."""
POISON = 0x7B
"""What memory holds before anything is written, as in the emulator: a large finite number in every wide float."""


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """A tensor and all bytes around it.

    Attributes:
        tensor: as an op sees it.
        raw: its memory with the guards, on the device.
        expected: what ``raw`` should hold, on the CPU.
    """

    tensor: torch.Tensor
    raw: torch.Tensor
    expected: torch.Tensor

    def fault(self, *, written: bool = False) -> str | None:
        """Return what happened to the memory; ``None`` for nothing, besides the tensor itself if it is ``written``."""
        seen = self.raw.cpu()
        inner = slice(GUARD, len(seen) - GUARD)
        if not written and not torch.equal(seen[inner], self.expected[inner]):
            return "was changed"
        beside = slice(0, GUARD), slice(len(seen) - GUARD, len(seen))
        if any(not torch.equal(seen[part], self.expected[part]) for part in beside):
            return "was written beside"
        return None


def read_bytes(argument: Argument, inputs: Path) -> torch.Tensor:
    """Return the bytes of an argument's file, on the CPU."""
    content = bytearray((inputs / argument.file).read_bytes())
    return torch.frombuffer(content, dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)


def shaped(content: torch.Tensor, argument: Argument) -> torch.Tensor:
    """Return bytes as the argument that they are."""
    shape = list(argument.shape)
    if argument.transposed:
        shape[-2:] = reversed(shape[-2:])
    tensor = content.view(getattr(torch, argument.dtype)).reshape(shape)
    return tensor.transpose(-1, -2) if argument.transposed else tensor


def guarded(argument: Argument, content: torch.Tensor, device: torch.device) -> Guarded:
    """Return an argument on a device, in memory of its own."""
    expected = _poisoned(len(content))
    expected[GUARD : GUARD + len(content)] = content
    raw = expected.to(device, copy=True)
    return Guarded(tensor=shaped(_inner(raw), argument), raw=raw, expected=expected)


def poisoned_like(tensor: torch.Tensor) -> Guarded:
    """Return a tensor of the same shape, dtype and device whose every byte is a pattern."""
    expected = _poisoned(tensor.numel() * tensor.element_size())
    raw = expected.to(tensor.device, copy=True)
    return Guarded(tensor=_inner(raw).view(tensor.dtype).reshape(tensor.shape), raw=raw, expected=expected)


def foul(size: int, device: torch.device) -> None:
    """Leave poison in memory that the next allocation of so many bytes on this stream will probably get."""
    blocks = [torch.full((size,), POISON, dtype=torch.uint8, device=device) for _ in range(2)]
    del blocks


def save(tensor: torch.Tensor, path: Path) -> None:
    """Write the bytes of a tensor, row-major, to a file."""
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    try:
        path.write_bytes(ctypes.string_at(flat.data_ptr(), flat.numel()) if flat.numel() else b"")
    except OSError:
        path.unlink(missing_ok=True)
        raise


def size_of(tensor: torch.Tensor) -> int:
    """Return how many bytes the elements of a tensor take."""
    return math.prod(map(int, tensor.shape)) * int(tensor.element_size())


def _poisoned(size: int) -> torch.Tensor:
    return torch.full((GUARD + size + GUARD,), POISON, dtype=torch.uint8)


def _inner(raw: torch.Tensor) -> torch.Tensor:
    return raw[GUARD : len(raw) - GUARD]
