"""Constants that only zeros are multiplied with: when another one is the same, and when it must not be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.hidden_arguments import Geometry
from tests.corpus.trial import Trial
from tests.mutation.beside_zeros import BesideZeros
from tests.mutation.operators import Mutant, Operator, mutants
from tests.mutation.subjects import Subject
from tests.mutation.unseen import Unseen
from tests.system.emulator_analysis_assembly import assemble

pytestmark = pytest.mark.needs_llvm

LANES, RESULTS = 64, 4
BEGIN = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32 v20, 4, v0
v_lshlrev_b32 v21, 3, v0
s_waitcnt lgkmcnt(0)
global_load_dwordx2 v[6:7], v21, s[4:5]
v_mov_b32 v4, 0
v_mov_b32 v5, 0
s_waitcnt vmcnt(0)
"""
ZERO, ONE, MINUS_ZERO = "v_mov_b32 v2, 0", "v_mov_b32 v2, 0x3c00", "v_mov_b32 v2, 0x8000"
AND_ZERO = "v_mov_b32 v3, 0"
PRODUCT = "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[4:5], 0; s_nop 15"
REVERSED = "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[2:3], 0; s_nop 15"
LOADED = "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[6:7], 0; s_nop 15"
SUM = "v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[4:5], v[2:5]; s_nop 15"
ALSO = "v_or_b32 v16, v16, v2"
STORE, END = "global_store_dwordx4 v20, v[16:19], s[6:7]", "s_endpgm"
KERNELS = {
    "zeros": (ZERO, AND_ZERO, PRODUCT, STORE, END),
    "reversed": (ZERO, AND_ZERO, REVERSED, STORE, END),
    "finite": (ONE, AND_ZERO, PRODUCT, STORE, END),
    "negative": (MINUS_ZERO, AND_ZERO, PRODUCT, STORE, END),
    "minus zeros": (ZERO, AND_ZERO, "v_mov_b32 v4, 0x8000", PRODUCT, STORE, END),
    "loaded": (ZERO, AND_ZERO, LOADED, STORE, END),
    "sum": (ZERO, AND_ZERO, SUM, STORE, END),
    "also": (ZERO, AND_ZERO, PRODUCT, ALSO, STORE, END),
}
INFINITY = (0x7C00).to_bytes(4, "little")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Subject]:
    bodies = {name.replace(" ", "_"): BEGIN + "\n".join(code) for name, code in KERNELS.items()}
    code = assemble(bodies, tmp_path_factory.mktemp("zeros"), pointers=2)
    trial = Trial(
        name="zeros",
        kernel="",
        geometry=Geometry(grid=(1, 1, 1), block=(LANES, 1, 1)),
        inputs=(np.zeros(LANES * 2, np.uint32),),
        out=np.zeros(LANES * RESULTS, np.float32),
        scalars=(),
        reference=lambda: np.zeros(LANES * RESULTS),
        rtol=0.0,
        atol=0.0,
    )
    return {name: Subject(name=name, code=code, kernel=name, trials=(replace(trial, kernel=name),)) for name in bodies}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


def of_constant(subject: Subject) -> Mutant:
    """Return the mutant of the constant in v2."""
    return next(
        each
        for each in mutants(subject.listing())
        if each.operator is Operator.CONSTANT
        and each.instruction.name == "v_mov_b32"
        and each.instruction.destinations[0].index == 2
    )


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("zeros", True),
        ("reversed", True),
        ("finite", True),
        ("negative", False),
        ("minus_zeros", False),
        ("loaded", True),
        ("sum", False),
        ("also", False),
    ],
)
def test_a_constant_is_hidden_where_only_zeros_are_multiplied_with_it(
    subjects: dict[str, Subject], cache: Path, name: str, *, hidden: bool
) -> None:
    subject, mutant = subjects[name], of_constant(subjects[name])
    assert BesideZeros(subject, cache).is_hidden(mutant) is hidden
    assert not Unseen(subject, cache).among([mutant]), "the reason without zeros does not know it"


def test_what_launches_load_counts(subjects: dict[str, Subject], cache: Path) -> None:
    subject = subjects["loaded"]
    (zeros,) = subject.trials
    one = replace(zeros, inputs=(np.full(LANES * 2, 0x3C00, np.uint32),), rtol=0.0, atol=1.0)
    assert not BesideZeros(replace(subject, trials=(zeros, one)), cache).is_hidden(of_constant(subject))


def test_zeros_hide_no_infinity(subjects: dict[str, Subject], cache: Path) -> None:
    subject = subjects["finite"]
    mutant = of_constant(subject)
    infinite = replace(mutant, after=mutant.after[:-4] + INFINITY)
    assert mutant.before[-4:] == (0x3C00).to_bytes(4, "little")
    assert not BesideZeros(subject, cache).is_hidden(infinite)
