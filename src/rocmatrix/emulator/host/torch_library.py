"""The stand-in for libtorch_cpu.so in this process: tensors, registered operators, calls of boxed functions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.host import torch_shim
from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.dtypes import number_of, numpy_types
from rocmatrix.emulator.host.torch_shim import (
    CPU,
    CUDA,
    WORD,
    CallbackTable,
    Registrations,
    Stack,
    TensorFacts,
    TensorStructure,
)
from rocmatrix.emulator.reports import UnsupportedError

Dispatch = Callable[[str, Stack], None]
"""Runs an operator of torch on a stack; raises what it cannot do."""


class TorchLibrary:
    """The loaded stand-in. What C calls must not raise: it is kept, and ``check`` raises it."""

    def __init__(self, path: Path, arena: Arena, version: tuple[int, int]) -> None:
        """Load the library and connect it.

        Args:
            path: the stand-in.
            arena: where memory of tensors comes from.
            version: major and minor of the torch that it plays.
        """
        self._library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._arena = arena
        self._problems: list[Exception] = []
        self._naming = ("memory of the extension", True)
        self.registrations = Registrations()
        self.dispatch: Dispatch = _refuse_operator
        self._callbacks = CallbackTable(
            torch_shim.Allocate(self._allocate),
            torch_shim.Release(self._release),
            torch_shim.Dispatch(self._dispatch),
            torch_shim.Registered(self._registered),
            torch_shim.Refuse(self._refuse),
            torch_shim.CurrentDevice(lambda: 0),
            torch_shim.CurrentStream(lambda _index: 0),
            torch_shim.SetDevice(int),  # 0 is success, and the one device there is
        )
        self._library.rocmatrix_set_callbacks(ctypes.byref(self._callbacks))
        self._library.rocmatrix_set_version(ctypes.c_uint64(version[0] << 56 | version[1] << 48))
        self._library.rocmatrix_tensor_new.restype = ctypes.c_void_p
        self._library.rocmatrix_tensor_view.restype = ctypes.c_void_p

    def check(self) -> None:
        """Raise what went wrong since the last time.

        Raises:
            UnsupportedError: the extension asked for what is not there.
        """
        problems, self._problems = self._problems, []
        if problems:
            raise problems[0]

    # -- tensors -------------------------------------------------------------------------------------------------

    @contextmanager
    def naming(self, name: str, *, writable: bool) -> Iterator[None]:
        """Give what is allocated meanwhile a name, for messages, and say whether kernels may write it."""
        before, self._naming = self._naming, (name, writable)
        try:
            yield
        finally:
            self._naming = before

    def new_tensor(self, dtype: int, sizes: Sequence[int], strides: Sequence[int], device_type: int = CUDA) -> int:
        """Return a handle of a tensor on new memory.

        Raises:
            UnsupportedError: it cannot be made.
        """
        made = self._library.rocmatrix_tensor_new(
            ctypes.c_int64(len(sizes)), _numbers(sizes), _numbers(strides), dtype, device_type, 0
        )
        return self._made(made)

    def view(self, handle: int, sizes: Sequence[int], strides: Sequence[int], offset: int) -> int:
        """Return a handle of another tensor on the same memory; ``offset`` in elements from its begin."""
        made = self._library.rocmatrix_tensor_view(
            ctypes.c_void_p(handle),
            ctypes.c_int64(len(sizes)),
            _numbers(sizes),
            _numbers(strides),
            ctypes.c_int64(offset),
        )
        return self._made(made)

    def _made(self, handle: int | None) -> int:
        if not handle:
            self.check()
            raise UnsupportedError("this tensor")
        return handle

    def delete(self, handle: int) -> None:
        """Give a handle back."""
        self._library.aoti_torch_delete_tensor_object(ctypes.c_void_p(handle))

    def facts(self, handle: int) -> TensorFacts:
        """Return a tensor's metadata.

        Raises:
            UnsupportedError: it is undefined.
        """
        tensor = TensorStructure.from_address(handle)
        if not tensor.storage:
            raise UnsupportedError("an undefined tensor")
        count = tensor.dimensions
        return TensorFacts(
            dtype=tensor.dtype,
            sizes=tuple(tensor.sizes[:count]),
            strides=tuple(tensor.strides[:count]),
            offset=tensor.offset,
            device_type=tensor.storage.contents.device_type,
        )

    def array(self, handle: int, *, reading: bool = False) -> Array:
        """Return a view of a tensor's elements, which counts as written unless it is only for reading.

        Raises:
            UnsupportedError: NumPy has no such dtype, or the tensor reaches beyond its memory.
        """
        facts = self.facts(handle)
        dtype = numpy_types().get(facts.dtype)
        if dtype is None:
            raise UnsupportedError(f"the contents of tensors of torch's dtype number {facts.dtype}")
        storage = TensorStructure.from_address(handle).storage.contents
        memory = (ctypes.c_uint8 * storage.size).from_address(storage.data or 0)
        if not reading:
            self._arena.host_wrote(storage.data or 0, storage.size)
        strides = [stride * dtype.itemsize for stride in facts.strides]
        try:
            return np.ndarray(facts.sizes, dtype, memory, facts.offset * dtype.itemsize, strides)
        except (ValueError, TypeError) as err:
            raise UnsupportedError(f"a tensor of {facts.sizes} that reaches beyond its {storage.size} bytes") from err

    def copy_in(self, name: str, value: Array, *, writable: bool, written: bool = True) -> int:
        """Return a handle of a GPU tensor with the elements and the strides of an array.

        Args:
            name: of its memory.
            value: elements and strides.
            writable: whether kernels may write it.
            written: whether its elements count as such, or as what nobody wrote.

        Raises:
            UnsupportedError: torch has no such dtype or strides.
        """
        dtype = number_of(value.dtype)
        if dtype is None:
            raise UnsupportedError(f"arguments of the NumPy type {value.dtype}")
        strides = [stride // value.itemsize for stride in value.strides]
        with self.naming(name, writable=writable):
            handle = self.new_tensor(dtype, value.shape, strides)
        if value.size:
            self.array(handle, reading=not written)[...] = value
        return handle

    # -- values --------------------------------------------------------------------------------------------------

    def new_optional(self, value: int) -> int:
        """Return what stands for an optional that has a value."""
        made = ctypes.POINTER(ctypes.c_uint64)()
        self._library.torch_new_stable_ivalue(ctypes.byref(made))
        made[0] = value
        return ctypes.cast(made, ctypes.c_void_p).value or 0

    def take_optional(self, value: int) -> int | None:
        """Return what is in an optional, and free it."""
        if not value:
            return None
        inner = ctypes.c_uint64.from_address(value).value
        self._library.torch_delete_stable_ivalue(ctypes.c_void_p(value))
        return inner

    def new_list(self, items: Iterable[int]) -> int:
        """Return a handle of a list of values."""
        made = ctypes.c_void_p()
        self._library.torch_new_list_reserve_size(ctypes.c_size_t(0), ctypes.byref(made))
        for item in items:
            self._library.torch_list_push_back(made, ctypes.c_uint64(item & WORD))
        return made.value or 0

    def take_list(self, handle: int) -> list[int]:
        """Return the values of a list as signed numbers, and free it."""
        size, item = ctypes.c_size_t(), ctypes.c_int64()
        self._library.torch_list_size(ctypes.c_void_p(handle), ctypes.byref(size))
        items = []
        for index in range(size.value):
            self._library.torch_list_get_item(ctypes.c_void_p(handle), ctypes.c_size_t(index), ctypes.byref(item))
            items.append(item.value)
        self._library.torch_delete_list(ctypes.c_void_p(handle))
        return items

    def call(self, function: int, arguments: Sequence[int], outputs: int) -> tuple[list[int], str | None]:
        """Call a boxed function; return its results, and the text of what it threw or ``None``."""
        size = max(len(arguments), outputs, 1)
        stack = (ctypes.c_uint64 * size)(*[argument & WORD for argument in arguments])
        texts: list[str] = []
        took = torch_shim.Took(lambda text: texts.append(text.decode("utf-8", "replace")))
        counts = (ctypes.c_uint64(len(arguments)), ctypes.c_uint64(outputs))
        failed = self._library.rocmatrix_call(ctypes.c_void_p(function), stack, *counts, took)
        return (list(stack[:outputs]), None) if not failed else ([], texts[0])

    # -- called from C -------------------------------------------------------------------------------------------

    def _allocate(self, size: int, device_type: int, device_index: int) -> int | None:
        if device_type not in {CPU, CUDA} or device_index > 0:
            self._refuse(f"memory on device {device_index} of type {device_type}".encode())
            return None
        name, writable = self._naming
        block = self._arena.allocate(size, name, writable=writable, host=device_type == CPU)
        return block.address if block else None

    def _release(self, address: int | None) -> None:
        if address and not self._arena.free(address):
            self._refuse(f"freeing memory at {address:#x}, where no allocation begins".encode())

    def _dispatch(self, name: bytes, overload: bytes, stack: ctypes._Pointer[ctypes.c_uint64], _version: int) -> int:
        full = ".".join(filter(None, (name.decode(), overload.decode())))
        try:
            self.dispatch(full, Stack(stack))
        except Exception as err:  # noqa: BLE001 - C cannot let it through; check() raises it
            self._problems.append(err)
            return 1
        return 0

    def _registered(self, _namespace: bytes, key: bytes | None, text: bytes, function: int | None) -> None:
        if function is None:
            schema = text.decode()
            self.registrations.schemas[schema.partition("(")[0].strip()] = schema
        else:
            name = text.decode().rpartition("::")[2]
            self.registrations.functions[name, (key or b"CompositeImplicitAutograd").decode()] = function

    def _refuse(self, what: bytes) -> None:
        self._problems.append(UnsupportedError(what.decode()))


def _refuse_operator(name: str, _stack: Stack) -> None:
    raise UnsupportedError(f"torch's operator {name}")


def _numbers(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)
