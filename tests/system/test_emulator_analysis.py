"""The static detectors on compiled code: silent on what a compiler made, and no wait or wait state can be taken away.

Every ``s_nop`` and every ``s_waitcnt`` of the kernels is weakened, one at a time, in the bytes of the code object. What
goes unseen must be on the closed list of ``emulator_analysis_mutants``, with a proof for each.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from rocmatrix.emulator import analysis
from rocmatrix.emulator.analysis.flow_graph import read_graph
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from tests.system.emulator_analysis_mutants import (
    LOADED_TO_LDS,
    LOOP_END,
    NOTHING_TO_WAIT_FOR,
    PACKED_SOURCE,
    SPILLED_TUPLE,
    WAITED_LATER,
    excuse,
    found,
    mutants_of,
)
from tests.system.emulator_compiler import compile_device, compile_gemm
from tests.system.emulator_programs import Writer

pytestmark = pytest.mark.needs_llvm

_FOLDER = Path(__file__).parent
_NOT_FOLLOWED = {"through_a_pointer"}
"""Kernels with calls through pointers: the analysis says that it does not cover what they call."""
_SEEN = "seen"


def _read(path: Path) -> CodeObject:
    return read_code_object(path.read_bytes(), path.name)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return _read(compile_device(_FOLDER / "emulator_analysis_kernels.hip", tmp_path_factory.mktemp("kernels") / "k.co"))


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return _read(compile_gemm(tmp_path_factory.mktemp("gemm")))


def _program(seed: int, level: str, folder: Path) -> CodeObject:
    source = folder / f"program{seed}.hip"
    source.write_text(Writer(seed, 30 if level == "-O0" else 80).program())
    return _read(compile_device(source, folder / f"program{seed}{level}.co", level=level))


def _weaken(code_object: CodeObject, kernel: str, *, at_most: int | None = None) -> Counter[str]:
    """Return how many mutants were seen, and for which reasons the others were not; fail on one without a reason."""
    mutants = list(mutants_of(read_graph(code_object, code_object.kernel(kernel))))
    if at_most is not None and len(mutants) > at_most:
        mutants = random.Random(1).sample(mutants, at_most)  # noqa: S311 - reproducible, no secret
    outcome: Counter[str] = Counter()
    for mutant in mutants:
        if found(code_object, kernel, mutant):
            outcome[_SEEN] += 1
            continue
        reason = excuse(code_object, kernel, mutant)
        assert reason is not None, f"{kernel}: {mutant.instruction} {mutant.change}: not seen, for no known reason"
        outcome[reason] += 1
    return outcome


def test_the_gemm_is_silent(gemm: CodeObject) -> None:
    for kernel in gemm.kernels:
        assert analysis.analyze(gemm, kernel) == analysis.Analysis(findings=(), remarks=())


def test_kernels_of_every_kind_of_hazard_are_silent(kernels: CodeObject) -> None:
    for kernel in kernels.kernels:
        report = analysis.analyze(kernels, kernel)
        assert report.findings == ()
        assert bool(report.remarks) == (kernel in _NOT_FOLLOWED)


def test_a_hazard_that_inline_assembly_hides_from_the_compiler_is_found(tmp_path: Path) -> None:
    """LLVM does not look into it: ``v_writelane_b32`` reads there what ``v_readfirstlane_b32`` has just written."""
    code_object = _read(compile_device(_FOLDER / "emulator_kernels.hip", tmp_path / "kernels.co"))
    faults = [fault for kernel in code_object.kernels for fault in analysis.findings(code_object, kernel)]
    assert [(fault.kernel, fault.detail.rpartition(" ")[2]) for fault in faults] == [("lanes", "[valu-sgpr-valu]")]


@pytest.mark.parametrize(("seed", "level"), [(200, "-O0"), (201, "-O1"), (202, "-O2"), (203, "-O3")])
def test_random_programs_are_silent_and_their_waits_are_needed(seed: int, level: str, tmp_path: Path) -> None:
    program = _program(seed, level, tmp_path)
    assert analysis.analyze(program, "kernel") == analysis.Analysis(findings=(), remarks=())
    outcome = _weaken(program, "kernel", at_most=5 if level == "-O0" else 30)
    assert outcome.keys() <= {_SEEN, NOTHING_TO_WAIT_FOR, WAITED_LATER, SPILLED_TUPLE, PACKED_SOURCE}


def test_no_wait_or_wait_state_of_the_kernels_can_be_weakened(kernels: CodeObject) -> None:
    outcome: Counter[str] = Counter()
    for kernel in kernels.kernels:
        outcome += _weaken(kernels, kernel)
    assert outcome.keys() <= {_SEEN, NOTHING_TO_WAIT_FOR, LOADED_TO_LDS, LOOP_END}
    assert outcome[_SEEN] > 98 / 100 * outcome.total()


def test_no_wait_or_wait_state_of_the_gemm_can_be_weakened(gemm: CodeObject) -> None:
    outcome: Counter[str] = Counter()
    for kernel in gemm.kernels:
        outcome += _weaken(gemm, kernel, at_most=8)
    assert outcome.keys() == {_SEEN}
