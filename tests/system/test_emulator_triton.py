"""Kernels that no one here wrote: Triton compiles them for gfx942, the emulator executes what its compiler made.

Results must be right against float64 and nothing may be found wrong with the kernels, whatever executes them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest

from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import ALL_DETECTORS
from rocmatrix.emulator.translator.program import Translator
from tests.corpus.specs import LOADING_TO_LDS, SPECS, SPILLING, Manifest, Spec
from tests.corpus.trial import Trial
from tests.mutation.operators import list_kernel
from tests.system.conftest import ROOT

pytestmark = [pytest.mark.needs_triton, pytest.mark.needs_llvm]

SECONDS = 300.0
EVERYTHING = Options(detectors=ALL_DETECTORS)
BY_NAME = {spec.name: spec for spec in SPECS}


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What Triton compiled."""

    folder: Path
    manifest: Manifest

    def code(self, name: str) -> CodeObject:
        return read_code_object((self.folder / f"{name}.co").read_bytes(), f"{name}.co")

    def trial(self, name: str) -> Trial:
        return BY_NAME[name].trial(BY_NAME[name], self.manifest.needs[name])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", ".", *filter(None, [os.getenv("PYTHONPATH")])])}
    command = [sys.executable, "-m", "tests.corpus.compiling", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return Corpus(folder=folder, manifest=msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest))


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator(tmp_path_factory.mktemp("translated"))


@pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])
def test_numbers_are_right_and_nothing_is_found(spec: Spec, corpus: Corpus, translator: Translator) -> None:
    trial = corpus.trial(spec.name)
    comparison, execution, _ = trial.run(corpus.code(spec.name), Device(translator), EVERYTHING)
    assert comparison.passed, comparison.detail
    assert not execution.findings, "\n".join(map(str, execution.findings))


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.small], ids=lambda spec: spec.name)
def test_the_reference_interpreter_says_the_same(spec: Spec, corpus: Corpus, translator: Translator) -> None:
    code, trial = corpus.code(spec.name), corpus.trial(spec.name)
    _, expected, want = trial.run(code, Device(), EVERYTHING)
    _, execution, got = trial.run(code, Device(translator), EVERYTHING)
    assert got.tobytes() == want.tobytes()
    assert execution == expected
    assert not execution.findings


def test_a_wrong_kernel_would_be_seen(corpus: Corpus, translator: Translator) -> None:
    """Told of one element less, the kernel must not come to the sum of all."""
    trial = corpus.trial("sum-by-atomics")
    wrong = replace(trial, scalars=(trial.scalars[0] - 1,))
    comparison, _, _ = wrong.run(corpus.code("sum-by-atomics"), Device(translator), EVERYTHING)
    assert not comparison.passed


def test_the_corpus_has_what_it_is_there_for(corpus: Corpus) -> None:
    """Spills, loads to LDS, atomics, and matrix instructions of every type."""
    (spilling,) = corpus.code(SPILLING).kernels.values()
    assert spilling.metadata.private_segment_fixed_size > 0
    assert _uses(corpus.code(LOADING_TO_LDS), "lds")
    names = {name for spec in SPECS for name in _names(corpus.code(spec.name))}
    for part in ("_f16", "_bf16", "_fp8_fp8", "_bf8_bf8", "_i8", "_xf32"):
        assert any(name.startswith("v_mfma") and name.endswith(part) for name in names), part
    for part in ("atomic", "s_barrier", "_dpp", "scratch_load", "buffer_"):
        assert any(part in name for name in names), part


def _names(code: CodeObject) -> set[str]:
    return {f"{each.name}{'_dpp' if each.dpp else ''}" for each in _listed(code)}


def _uses(code: CodeObject, bit: str) -> bool:
    return any(getattr(each.memory, bit, False) or f"load_{bit}" in each.name for each in _listed(code))


def _listed(code: CodeObject) -> tuple[Instruction, ...]:
    (kernel,) = code.kernels.values()
    segment = next(each for each in code.segments if each.address <= kernel.entry < each.address + each.size)
    return list_kernel(segment.data[kernel.entry - segment.address :]).instructions
