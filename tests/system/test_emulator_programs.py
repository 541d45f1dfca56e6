"""Random programs: gfx942 code of two optimisation levels, emulated, against the same source on this machine's CPU."""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import read_code_object
from rocmatrix.emulator.descriptor import Denormals
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Approximation, Numerics
from tests.system.emulator_compiler import compile_device, compile_host
from tests.system.emulator_flush_programs import VARIABLES, write_program
from tests.system.emulator_gemm import put
from tests.system.emulator_programs import BUCKETS, INPUTS, OUTPUTS, WORKITEMS, Writer

pytestmark = pytest.mark.needs_llvm

_SEEDS = range(100, 104)
_NO_CONTRACTION = ("-ffp-contract=off",)
_NO_EXCESS = ("-Xclang", "-ffloat16-excess-precision=none")
_SPECIAL = np.array(
    [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x7F800000, 0xFF800000, 0x3F800000, 0x800000, 0x7FFFFF, 0x7FC00000, 2],
    dtype=np.uint32,
)


def _inputs(seed: int) -> Array:
    """Return words, of which some are special values and some are small."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 1 << 32, (WORKITEMS, INPUTS), dtype=np.uint64).astype(np.uint32)
    special = random.random(words.shape) < 0.25
    words[special] = random.choice(_SPECIAL, special.sum())
    return np.where(random.random(words.shape) < 0.2, words & np.uint32(0xFF), words)


def _on_host(source: Path, inputs: Array) -> tuple[Array, Array]:
    library = ctypes.CDLL(str(compile_host(source, source.with_suffix(".so"), flags=(*_NO_CONTRACTION, *_NO_EXCESS))))
    out, buckets = np.zeros((WORKITEMS, OUTPUTS), np.uint32), np.zeros(BUCKETS, np.uint32)
    library.kernel(*(array.ctypes.data_as(ctypes.c_void_p) for array in (inputs, out, buckets)))
    return out, buckets


def _emulated(path: Path, inputs: Array, seed: int, numerics: Numerics = DEFAULT_NUMERICS) -> tuple[Array, Array]:
    device = Device()
    code = device.load(read_code_object(path.read_bytes(), path.name))
    out, buckets = np.zeros((WORKITEMS, OUTPUTS), np.uint32), np.zeros(BUCKETS, np.uint32)
    places = [put(device, name, array) for name, array in (("in", inputs), ("out", out), ("buckets", buckets))]
    arguments = struct.pack("<3Q", *(place.address for place in places))
    geometry = Geometry(grid=(WORKITEMS // 64, 1, 1), block=(64, 1, 1))
    device.launch(
        code, "kernel", geometry, arguments, options=Options(seed=seed, dynamic_stack=4096, numerics=numerics)
    )
    return places[1].data.view(np.uint32).reshape(out.shape), places[2].data.view(np.uint32)


@pytest.mark.parametrize("seed", _SEEDS)
def test_optimised_and_plain_gpu_code_give_the_bits_of_the_cpu(seed: int, tmp_path: Path) -> None:
    source = tmp_path / "program.hip"
    source.write_text(Writer(seed, 80).program())
    inputs = _inputs(seed)
    want, want_buckets = _on_host(source, inputs)
    for level in ("-O0", "-O3"):
        path = compile_device(source, tmp_path / f"program{level}.co", level=level, flags=_NO_CONTRACTION)
        got, got_buckets = _emulated(path, inputs, seed)
        np.testing.assert_array_equal(got, want, err_msg=f"{level}, rows are work-items")
        np.testing.assert_array_equal(got_buckets, want_buckets, err_msg=f"{level}, atomics")


def test_divisions_and_roots_are_right_at_either_end_of_what_the_machine_may_approximate(tmp_path: Path) -> None:
    """Compilers refine ``v_rcp`` and ``v_sqrt`` to the rounded result, whatever their last bit is."""
    source = tmp_path / "program.hip"
    source.write_text(Writer(105, 40).program())
    inputs = _inputs(105)
    want, _ = _on_host(source, inputs)
    path = compile_device(source, tmp_path / "program.co", flags=_NO_CONTRACTION)
    for end in (Approximation.LOW, Approximation.HIGH):
        got, _ = _emulated(path, inputs, 105, numerics=Numerics(approximation=end))
        np.testing.assert_array_equal(got, want, err_msg=end)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="MXCSR is x86-64's")
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_denormals_are_flushed_as_on_the_cpu(level: str, tmp_path: Path) -> None:
    source = tmp_path / "flush.hip"
    source.write_text(write_program(7))
    random = np.random.default_rng(7)
    inputs = random.integers(0, 1 << 32, (WORKITEMS, VARIABLES), dtype=np.uint64).astype(np.uint32)
    small = random.random(inputs.shape) < 0.5
    inputs[small] &= np.uint32(0x81FFFFFF)  # denormals, and numbers not far above
    library = ctypes.CDLL(str(compile_host(source, tmp_path / "flush.so", flags=(*_NO_CONTRACTION, "-mfma"))))
    want = np.zeros_like(inputs)
    library.kernel(*(array.ctypes.data_as(ctypes.c_void_p) for array in (inputs, want)), WORKITEMS)
    flags = (*_NO_CONTRACTION, "-fgpu-flush-denormals-to-zero")
    path = compile_device(source, tmp_path / "flush.co", level=level, flags=flags)
    device = Device()
    code = device.load(read_code_object(path.read_bytes(), path.name))
    assert code.code_object.kernel("kernel").descriptor.mode.denormals_32 is Denormals.FLUSH_SOURCES_AND_RESULTS
    places = [put(device, name, array) for name, array in (("in", inputs), ("out", np.zeros_like(inputs)))]
    arguments = struct.pack("<2Q", *(place.address for place in places))
    geometry = Geometry(grid=(WORKITEMS // 64, 1, 1), block=(64, 1, 1))
    device.launch(code, "kernel", geometry, arguments, options=Options(dynamic_stack=4096))
    np.testing.assert_array_equal(places[1].data.view(np.uint32).reshape(want.shape), want)
    kept = ctypes.CDLL(str(compile_host(source, tmp_path / "kept.so", flags=(*_NO_CONTRACTION, "-mfma", "-DKEEP"))))
    other = np.zeros_like(inputs)
    kept.kernel(*(array.ctypes.data_as(ctypes.c_void_p) for array in (inputs, other)), WORKITEMS)
    assert (other != want).mean() > 0.01, "flushing decides nothing here"
