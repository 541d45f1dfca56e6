"""Compiled code that is right is silent about what was never written: single features, programs at -O0 and -O3, GEMM.

The tests of ``test_emulator_kernels.py`` are here again, with every launch tracked.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.code_object import read_code_object
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.reports import Detector
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_compiler import compile_device, compile_gemm
from tests.system.emulator_gemm import put, run_gemm
from tests.system.emulator_programs import BUCKETS, INPUTS, OUTPUTS, WORKITEMS, Writer
from tests.system.test_emulator_gemm import CASES
from tests.system.test_emulator_kernels import *  # noqa: F403 - pytest finds the tests by their names here too
from tests.system.test_emulator_kernels import Bench

pytestmark = pytest.mark.needs_llvm

# these launch without the bench, or not at all
del test_a_damaged_code_object_gets_one_clear_message  # noqa: F821 - imported above
del test_code_object_versions_name_their_hidden_arguments  # noqa: F821
del test_preloaded_arguments_and_the_compatible_entry_give_the_same  # noqa: F821

_TRACKED = Options(detectors=frozenset({Detector.UNWRITTEN}))


@pytest.fixture(name="bench")
def _tracked_bench(image: bytes) -> Bench:
    """Stand in for the plain one."""
    device = Device()
    return Bench(device, device.load(read_code_object(image, "kernels.co")), _TRACKED.detectors)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_random_programs_are_silent(level: str, tmp_path: Path) -> None:
    source = tmp_path / "program.hip"
    source.write_text(Writer(211, 12).program())
    path = compile_device(source, tmp_path / "program.co", level=level, flags=("-ffp-contract=off",))
    inputs = np.random.default_rng(7).integers(0, 1 << 32, (WORKITEMS, INPUTS), dtype=np.uint64).astype(np.uint32)
    device = Device()
    code = device.load(read_code_object(path.read_bytes(), path.name))
    out = device.memory.allocate(4 * WORKITEMS * OUTPUTS, "out", written=False)
    places = [put(device, "in", inputs), out, put(device, "buckets", np.zeros(BUCKETS, np.uint32))]
    arguments = struct.pack("<3Q", *(place.address for place in places))
    geometry = Geometry(grid=(WORKITEMS // 64, 1, 1), block=(64, 1, 1))
    options = replace(_TRACKED, seed=1, dynamic_stack=4096)
    assert not device.launch(code, "kernel", geometry, arguments, options=options).findings
    assert all("that nothing stored" in str(fault) for fault in device.unwritten(out, "kernel"))


def test_the_gemm_is_silent_in_generated_code(tmp_path: Path) -> None:
    path = compile_gemm(tmp_path)
    code, translator = read_code_object(path.read_bytes(), path.name), Translator(tmp_path / "code")
    for case in (case for case in CASES if case.name.endswith("nn")):
        _, execution = run_gemm(code, case, device=Device(translator), options=_TRACKED)
        assert not execution.findings, "\n".join(map(str, execution.findings))
    assert translator.work.interpreted.total() < translator.work.translated / 100
