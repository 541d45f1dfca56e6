"""What ``host.h`` declares, for ctypes, and the values that travel between an extension and torch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

CPU, CUDA = 0, 1
"""Numbers of device types (c10/core/DeviceType.h)."""
_MAX_DIMENSIONS = 64
WORD = (1 << 64) - 1
"""Bits of a value on a stack."""

Took = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Dispatch = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64
)
Registered = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
Refuse = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
CurrentDevice = ctypes.CFUNCTYPE(ctypes.c_int32)
CurrentStream = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int32)
SetDevice = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)


class StorageStructure(ctypes.Structure):
    """``Storage`` of ``host.h``, up to what is read here."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("owners", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
    )


class TensorStructure(ctypes.Structure):
    """``Tensor`` of ``host.h``."""

    _fields_ = (
        ("storage", ctypes.POINTER(StorageStructure)),
        ("offset", ctypes.c_int64),
        ("dtype", ctypes.c_int32),
        ("dimensions", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * _MAX_DIMENSIONS),
        ("strides", ctypes.c_int64 * _MAX_DIMENSIONS),
    )


class CallbackTable(ctypes.Structure):
    """``Callbacks`` of ``host.h``."""

    _fields_ = (
        ("allocate", Allocate),
        ("release", Release),
        ("dispatch", Dispatch),
        ("registered", Registered),
        ("refuse", Refuse),
        ("current_device", CurrentDevice),
        ("current_stream", CurrentStream),
        ("set_device", SetDevice),
    )


@dataclass(frozen=True, kw_only=True)
class TensorFacts:
    """A tensor's metadata: sizes, strides and offset in elements."""

    dtype: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    device_type: int


@dataclass
class Registrations:
    """What an extension has registered.

    Attributes:
        schemas: by operator name without namespace.
        functions: address of the boxed function by operator name and dispatch key.
    """

    schemas: dict[str, str] = field(default_factory=dict)
    functions: dict[tuple[str, str], int] = field(default_factory=dict)


class Stack:
    """The values of a call, which is the extension's memory: arguments first, then results in their place."""

    def __init__(self, words: ctypes._Pointer[ctypes.c_uint64]) -> None:
        """Take the address of the first value."""
        self._words = words

    def __getitem__(self, index: int) -> int:
        """Return a value's 64 bits."""
        return int(self._words[index])

    def __setitem__(self, index: int, value: int) -> None:
        """Put a value."""
        self._words[index] = value
