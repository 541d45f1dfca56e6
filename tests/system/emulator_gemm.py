"""Launches the GEMM's kernels on the emulator, without their host code."""

from __future__ import annotations

import struct

import numpy as np

from rocmatrix.cases import Array, Case, Layout
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Execution, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.observer import Observer

_NAME = "_ZN14rocmatrix_gemm11gemm_kernelILNS_10ContiguousE{a}ELS1_{b}EEEvPKhS3_PKfS5_Ptiii"
_TILE = 128
_THREADS = 256
_POISON = 0xCD


def put(device: Device, name: str, array: Array, *, writable: bool = True) -> Allocation:
    """Copy an array's bytes, as they lie in memory, to the device."""
    allocation = device.memory.allocate(array.nbytes, name, writable=writable)
    allocation.data[:] = np.frombuffer(array.tobytes(), dtype=np.uint8)
    return allocation


def run_gemm(
    code_object: CodeObject,
    case: Case,
    *,
    device: Device | None = None,
    options: Options | None = None,
    observer: Observer | None = None,
) -> tuple[Array, Execution]:
    """Return C in float64, and what the launch came to."""
    import ml_dtypes  # noqa: PLC0415 - registers bfloat16 with NumPy

    device = device or Device()
    code = device.load(code_object)
    arguments = case.make_arguments()
    transposed = {name: case.layouts.get(name) is Layout.TRANSPOSED for name in ("a", "b")}
    pointers = [
        put(device, name, np.ascontiguousarray(array.T if transposed.get(name) else array), writable=False)
        for name, array in arguments.items()
    ]
    (m, k), n = arguments["a"].shape, arguments["b"].shape[1]
    out = device.memory.allocate(2 * m * n, "out", fill=_POISON)
    name = _NAME.format(a=int(transposed["a"]), b=int(not transposed["b"]))
    tiles = -(-m // _TILE) * -(-n // _TILE)
    execution = device.launch(
        code,
        name,
        Geometry(grid=(tiles, 1, 1), block=(_THREADS, 1, 1)),
        struct.pack("<5Q3i", *(pointer.address for pointer in pointers), out.address, m, n, k),
        options=options,
        observer=observer,
    )
    return out.data.view(ml_dtypes.bfloat16).reshape(m, n).astype(np.float64), execution


def share_in_tolerance(case: Case, got: Array) -> float:
    """Return the share of elements that pass, as ``Case`` defines it."""
    want = case.reference(**case.make_arguments())
    near = np.abs(got - want) <= case.atol + case.rtol * np.abs(want)
    return float(np.where(np.isnan(want), np.isnan(got), near).mean())
