"""The stand-in for torch: tensors and the operators that make, view and copy them, against NumPy."""

import ctypes
import itertools
import struct

import numpy as np
import pytest

from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.aten import Aten
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.torch_library import TorchLibrary
from rocmatrix.emulator.host.torch_shim import Stack
from rocmatrix.emulator.reports import UnsupportedError

pytestmark = pytest.mark.needs_llvm

FLOAT32, BFLOAT16, CUDA_0 = 6, 15, 1 << 32


class Torch:
    """The library with its operators, called as an extension calls them."""

    def __init__(self, library: TorchLibrary) -> None:
        self.library, self.aten = library, Aten(library)

    def tensor(self, array: np.ndarray) -> int:
        return self.library.copy_in("x", array, writable=True)

    def run(self, name: str, *words: int) -> int:
        values = (ctypes.c_uint64 * len(words))(*[word & (1 << 64) - 1 for word in words])
        self.aten.call(f"aten::{name}", Stack(ctypes.cast(values, ctypes.POINTER(ctypes.c_uint64))))
        return values[0]

    def array(self, handle: int) -> np.ndarray:
        return self.library.array(handle)


@pytest.fixture
def torch(torch_stand_in: TorchLibrary) -> Torch:
    return Torch(torch_stand_in)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_a_tensor_has_the_elements_and_strides_of_its_array(torch: Torch) -> None:
    turned = X.transpose(2, 0, 1)
    handle = torch.tensor(turned)
    facts = torch.library.facts(handle)
    assert (facts.sizes, facts.strides, facts.dtype) == ((4, 2, 3), (1, 12, 4), FLOAT32)
    np.testing.assert_array_equal(torch.array(handle), turned)


def test_views_share_memory_and_are_those_of_numpy(torch: Torch) -> None:
    handle = torch.tensor(X)
    cases: list[tuple[str, tuple[int, ...], np.ndarray]] = [
        ("transpose.int", (0, -1), X.transpose(2, 1, 0)),
        ("select.int", (1, -1), X[:, -1]),
        ("narrow", (2, 1, 2), X[:, :, 1:3]),
        ("unsqueeze", (-1,), X[..., None]),
        ("unsqueeze", (0,), X[None]),
        ("flatten.using_ints", (1, -1), X.reshape(2, 12)),
        ("view", (torch.library.new_list([4, -1]),), X.reshape(4, 6)),
    ]
    for name, words, want in cases:
        copy = torch.library.view(handle, (2, 3, 4), (12, 4, 1), 0)
        made = torch.run(name, copy, *words)
        np.testing.assert_array_equal(torch.array(made), want, err_msg=name)
        torch.array(made)[...] = -torch.array(made)
        assert (torch.array(handle) < 0).any(), name
        torch.array(handle)[...] = X


def test_contiguous_clone_and_reshape_copy_where_they_must(torch: Torch) -> None:
    turned = np.ascontiguousarray(X.transpose(2, 1, 0)).transpose(2, 1, 0)
    same = torch.run("contiguous", handle := torch.tensor(X), 0)
    assert same == handle
    copied = torch.run("contiguous", torch.tensor(turned), 0)
    assert torch.library.facts(copied).strides == (12, 4, 1)
    np.testing.assert_array_equal(torch.array(copied), X)
    cloned = torch.run("clone", torch.tensor(turned), 0)
    assert torch.library.facts(cloned).strides == tuple(stride // 4 for stride in turned.strides)
    reshaped = torch.run("reshape", torch.tensor(turned), torch.library.new_list([24]))
    np.testing.assert_array_equal(torch.array(reshaped), X.reshape(24))
    with pytest.raises(UnsupportedError, match="not contiguous"):
        torch.run("view", torch.tensor(turned), torch.library.new_list([24]))


def test_new_tensors_have_what_is_asked_for_and_are_poisoned_or_filled(torch: Torch) -> None:
    like = torch.tensor(X)
    optional, sizes = torch.library.new_optional, torch.library.new_list
    empty = torch.run("new_empty", like, sizes([5, 1]), optional(BFLOAT16), 0, 0, 0)
    facts = torch.library.facts(empty)
    assert (facts.dtype, facts.sizes, facts.strides, facts.device_type) == (BFLOAT16, (5, 1), (1, 1), 1)
    assert (torch.array(empty).astype(np.float64) > 1e30).all()
    zeros = torch.run("new_zeros", torch.tensor(X), sizes([3]), 0, 0, 0, 0)
    np.testing.assert_array_equal(torch.array(zeros), np.zeros(3, np.float32))
    bits = struct.unpack("<Q", struct.pack("<d", 2.5))[0]
    full = torch.run("full", sizes([2, 2]), bits, optional(FLOAT32), 0, optional(CUDA_0), 0)
    np.testing.assert_array_equal(torch.array(full), np.full((2, 2), 2.5, np.float32))
    torch.run("zero_", full)
    assert not torch.array(full).any()


def test_what_computes_is_refused_by_name(torch: Torch) -> None:
    with pytest.raises(UnsupportedError, match="aten::matmul"):
        torch.run("matmul", torch.tensor(X), torch.tensor(X))
    with pytest.raises(UnsupportedError, match="narrow to 3:5 of 4"):
        torch.run("narrow", torch.tensor(X), 2, 3, 2)


def test_memory_goes_back_when_the_last_tensor_on_it_does(torch: Torch, arena: Arena) -> None:
    handle = torch.tensor(X)
    view = torch.run("select.int", torch.library.view(handle, (2, 3, 4), (12, 4, 1), 0), 0, 1)
    torch.library.delete(handle)
    assert [block.name for block in arena.blocks] == ["x"]
    torch.library.delete(view)
    assert not arena.blocks


def test_a_device_without_memory_left_says_so(torch: Torch) -> None:
    with pytest.raises(UnsupportedError, match="more memory than the emulated device has"):
        torch.library.new_tensor(FLOAT32, (1 << 23,), (1,))


SHAPES = [(3, 4), (1, 4), (3, 1), (1, 1), (2, 1, 3), (0, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_contiguity_is_that_of_numpy_where_axes_of_one_element_say_nothing(
    torch: Torch, compiler: RuntimeCompiler, shape: tuple[int, ...]
) -> None:
    c, answer = ctypes.CDLL(str(compiler.torch())), ctypes.c_bool()
    for axes in itertools.permutations(range(len(shape))):
        array = np.zeros([shape[axis] for axis in np.argsort(axes)], np.float32).transpose(axes)
        handle = torch.tensor(array)
        assert c.aoti_torch_is_contiguous(ctypes.c_void_p(handle), ctypes.byref(answer)) == 0
        assert answer.value == array.flags.c_contiguous, (array.shape, array.strides)
    wide = torch.library.view(torch.library.new_tensor(FLOAT32, (8,), (1,)), (1, 4), (7, 1), 0)
    c.aoti_torch_is_contiguous(ctypes.c_void_p(wide), ctypes.byref(answer))
    assert answer.value
    every_other = torch.library.view(torch.library.new_tensor(FLOAT32, (8,), (1,)), (4,), (2,), 0)
    c.aoti_torch_is_contiguous(ctypes.c_void_p(every_other), ctypes.byref(answer))
    assert not answer.value
