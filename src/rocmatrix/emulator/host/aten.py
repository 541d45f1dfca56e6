"""Operators of torch itself that an extension may call through the dispatcher: those that make, view and copy tensors.

Whatever computes is refused by name: a kernel is to be tested, not an imitation of torch. Signatures:
native_functions.yaml of torch 2.13, as ``torch/csrc/stable/ops.h`` calls them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import prod

from rocmatrix.emulator.host.torch_library import TorchLibrary
from rocmatrix.emulator.host.torch_shim import Stack, TensorFacts
from rocmatrix.emulator.reports import UnsupportedError

_STRIDED = 0
_CONTIGUOUS, _PRESERVE = 0, 1


class Aten:
    """The operators over one library."""

    def __init__(self, library: TorchLibrary) -> None:
        """Answer the calls that the library gets."""
        self._library = library
        self._operators: dict[str, tuple[int, Callable[[Stack], int]]] = {
            "aten::empty.memory_format": (6, self._empty),
            "aten::empty_like": (6, self._empty_like),
            "aten::new_empty": (6, self._new_empty),
            "aten::new_zeros": (6, self._new_zeros),
            "aten::full": (6, self._full),
            "aten::fill_.Scalar": (2, self._fill),
            "aten::zero_": (1, self._zero),
            "aten::copy_": (3, self._copy),
            "aten::clone": (2, self._clone),
            "aten::contiguous": (2, self._contiguous),
            "aten::narrow": (4, self._narrow),
            "aten::select.int": (3, self._select),
            "aten::transpose.int": (3, self._transpose),
            "aten::unsqueeze": (2, self._unsqueeze),
            "aten::squeeze.dim": (2, self._squeeze),
            "aten::view": (2, self._view),
            "aten::reshape": (2, self._reshape),
            "aten::flatten.using_ints": (3, self._flatten),
        }
        library.dispatch = self.call

    def call(self, name: str, stack: Stack) -> None:
        """Run an operator: it takes its arguments from the stack and leaves one tensor there.

        Raises:
            UnsupportedError: it is not one of these, or is asked for something unusual.
        """
        if name not in self._operators:
            raise UnsupportedError(f"torch's operator {name}")
        stack[0] = self._operators[name][1](stack)

    # -- making --------------------------------------------------------------------------------------------------

    def _make(self, sizes: Sequence[int], dtype: int, device_type: int) -> int:
        with self._library.naming("a tensor that the extension made", writable=True):
            return self._library.new_tensor(dtype, sizes, contiguous_strides(sizes), device_type)

    def _options(self, stack: Stack, first: int) -> tuple[int | None, int | None]:
        """Take dtype, layout, device and pinning; return dtype and device type where they are given."""
        take = self._library.take_optional
        dtype, layout, device, pinned = (take(stack[first + place]) for place in range(4))
        if layout not in {None, _STRIDED} or pinned:
            raise UnsupportedError("tensors that are not strided, or pinned ones")
        return dtype, None if device is None else device >> 32

    def _empty(self, stack: Stack) -> int:
        sizes = self._library.take_list(stack[0])
        dtype, device = self._options(stack, 1)
        self._check_format(self._library.take_optional(stack[5]))
        if dtype is None:
            raise UnsupportedError("an empty tensor without a dtype")
        return self._make(sizes, dtype, 0 if device is None else device)

    def _empty_like(self, stack: Stack) -> int:
        facts = self._taken(stack[0])
        dtype, device = self._options(stack, 1)
        self._check_format(self._library.take_optional(stack[5]))
        strides = facts.strides if _is_dense(facts) else contiguous_strides(facts.sizes)
        with self._library.naming("a tensor that the extension made", writable=True):
            return self._library.new_tensor(
                facts.dtype if dtype is None else dtype,
                facts.sizes,
                strides,
                facts.device_type if device is None else device,
            )

    def _new_empty(self, stack: Stack) -> int:
        facts = self._taken(stack[0])
        sizes = self._library.take_list(stack[1])
        dtype, device = self._options(stack, 2)
        return self._make(
            sizes, facts.dtype if dtype is None else dtype, facts.device_type if device is None else device
        )

    def _new_zeros(self, stack: Stack) -> int:
        made = self._new_empty(stack)
        self._library.array(made)[...] = 0
        return made

    def _full(self, stack: Stack) -> int:
        sizes = self._library.take_list(stack[0])
        value = _float(stack[1])
        dtype, device = self._options(stack, 2)
        if dtype is None:
            raise UnsupportedError("a filled tensor without a dtype")
        made = self._make(sizes, dtype, 0 if device is None else device)
        self._library.array(made)[...] = value
        return made

    # -- contents ------------------------------------------------------------------------------------------------

    def _fill(self, stack: Stack) -> int:
        self._library.array(stack[0])[...] = _float(stack[1])
        return stack[0]

    def _zero(self, stack: Stack) -> int:
        self._library.array(stack[0])[...] = 0
        return stack[0]

    def _copy(self, stack: Stack) -> int:
        target, source = stack[0], stack[1]
        if self._library.facts(target).dtype != self._library.facts(source).dtype:
            raise UnsupportedError("copies from one dtype to another")
        self._library.array(target)[...] = self._library.array(source)
        self._library.delete(source)
        return target

    def _clone(self, stack: Stack) -> int:
        self._check_format(self._library.take_optional(stack[1]))
        facts = self._library.facts(stack[0])
        strides = facts.strides if _is_dense(facts) else contiguous_strides(facts.sizes)
        return self._copied(stack[0], strides)

    def _contiguous(self, stack: Stack) -> int:
        self._check_format(stack[1], least=_CONTIGUOUS)
        facts = self._library.facts(stack[0])
        wanted = contiguous_strides(facts.sizes)
        return stack[0] if _same_strides(facts, wanted) else self._copied(stack[0], wanted)

    def _copied(self, handle: int, strides: Sequence[int]) -> int:
        facts = self._library.facts(handle)
        with self._library.naming("a copy that the extension made", writable=True):
            made = self._library.new_tensor(facts.dtype, facts.sizes, strides, facts.device_type)
        self._library.array(made)[...] = self._library.array(handle)
        self._library.delete(handle)
        return made

    def _check_format(self, memory_format: int | None, least: int = _PRESERVE) -> None:
        if memory_format not in {None, _CONTIGUOUS, least}:
            raise UnsupportedError("memory formats other than contiguous")

    # -- views ---------------------------------------------------------------------------------------------------

    def _taken(self, handle: int) -> TensorFacts:
        facts = self._library.facts(handle)
        self._library.delete(handle)
        return facts

    def _viewed(self, handle: int, sizes: Sequence[int], strides: Sequence[int], offset: int) -> int:
        made = self._library.view(handle, sizes, strides, offset)
        self._library.delete(handle)
        return made

    def _narrow(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        axis = _axis(facts, _signed(stack[1]))
        start, length = _signed(stack[2]), _signed(stack[3])
        start += facts.sizes[axis] if start < 0 else 0
        if start < 0 or length < 0 or start + length > facts.sizes[axis]:
            raise UnsupportedError(f"narrow to {start}:{start + length} of {facts.sizes[axis]}")
        sizes = list(facts.sizes)
        sizes[axis] = length
        return self._viewed(stack[0], sizes, facts.strides, facts.offset + start * facts.strides[axis])

    def _select(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        axis, index = _axis(facts, _signed(stack[1])), _signed(stack[2])
        index += facts.sizes[axis] if index < 0 else 0
        if not 0 <= index < facts.sizes[axis]:
            raise UnsupportedError(f"select of {index} of {facts.sizes[axis]}")
        sizes = [size for place, size in enumerate(facts.sizes) if place != axis]
        strides = [stride for place, stride in enumerate(facts.strides) if place != axis]
        return self._viewed(stack[0], sizes, strides, facts.offset + index * facts.strides[axis])

    def _transpose(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        first, second = (_axis(facts, _signed(stack[place])) for place in (1, 2))
        order = list(range(len(facts.sizes)))
        order[first], order[second] = order[second], order[first]
        sizes, strides = ([values[place] for place in order] for values in (facts.sizes, facts.strides))
        return self._viewed(stack[0], sizes, strides, facts.offset)

    def _unsqueeze(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        axis = _signed(stack[1])
        axis += len(facts.sizes) + 1 if axis < 0 else 0
        stride = facts.sizes[axis] * facts.strides[axis] if axis < len(facts.sizes) else 1
        sizes = (*facts.sizes[:axis], 1, *facts.sizes[axis:])
        return self._viewed(stack[0], sizes, (*facts.strides[:axis], stride, *facts.strides[axis:]), facts.offset)

    def _squeeze(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        axis = _axis(facts, _signed(stack[1]))
        if facts.sizes[axis] != 1:
            return stack[0]
        sizes = (*facts.sizes[:axis], *facts.sizes[axis + 1 :])
        return self._viewed(stack[0], sizes, (*facts.strides[:axis], *facts.strides[axis + 1 :]), facts.offset)

    def _view(self, stack: Stack) -> int:
        return self._shaped(stack[0], self._library.take_list(stack[1]), may_copy=False)

    def _reshape(self, stack: Stack) -> int:
        return self._shaped(stack[0], self._library.take_list(stack[1]), may_copy=True)

    def _flatten(self, stack: Stack) -> int:
        facts = self._library.facts(stack[0])
        if not facts.sizes:
            return self._shaped(stack[0], [1], may_copy=True)
        first, last = (_axis(facts, _signed(stack[place])) for place in (1, 2))
        middle = prod(facts.sizes[first : last + 1])
        return self._shaped(stack[0], [*facts.sizes[:first], middle, *facts.sizes[last + 1 :]], may_copy=True)

    def _shaped(self, handle: int, sizes: list[int], *, may_copy: bool) -> int:
        facts = self._library.facts(handle)
        count = prod(facts.sizes)
        if -1 in sizes:
            rest = prod(size for size in sizes if size != -1)
            sizes = [count // rest if size == -1 else size for size in sizes]
        if prod(sizes) != count:
            raise UnsupportedError(f"a view of {facts.sizes} as {tuple(sizes)}")
        if not _same_strides(facts, contiguous_strides(facts.sizes)):
            if not may_copy:
                raise UnsupportedError("views of tensors that are not contiguous")
            handle = self._copied(handle, contiguous_strides(facts.sizes))
            facts = self._library.facts(handle)
        return self._viewed(handle, sizes, contiguous_strides(sizes), facts.offset)


def contiguous_strides(sizes: Sequence[int]) -> list[int]:
    """Return the strides of a contiguous tensor, in elements, as torch gives them."""
    strides = [1] * len(sizes)
    for place in range(len(sizes) - 2, -1, -1):
        strides[place] = strides[place + 1] * max(sizes[place + 1], 1)
    return strides


def _same_strides(facts: TensorFacts, wanted: Sequence[int]) -> bool:
    pairs = zip(facts.sizes, facts.strides, wanted, strict=True)
    return 0 in facts.sizes or all(size == 1 or stride == want for size, stride, want in pairs)


def _is_dense(facts: TensorFacts) -> bool:
    """Say whether the elements lie without gap or overlap, in whatever order of axes."""
    expected = 1
    for size, stride in sorted(zip(facts.sizes, facts.strides, strict=True), key=lambda pair: (pair[1], pair[0])):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _axis(facts: TensorFacts, axis: int) -> int:
    place = axis + len(facts.sizes) if axis < 0 else axis
    if not 0 <= place < len(facts.sizes):
        raise UnsupportedError(f"axis {axis} of a tensor of {len(facts.sizes)} dimensions")
    return place


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _float(word: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", word))[0])
