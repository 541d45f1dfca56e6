"""Steps of a softmax's exponentials and divisions that change one bit in millions of quotients: rows that show them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.instruction import Operand, RegisterFile
from rocmatrix.emulator.numerics import Approximation, Numerics
from rocmatrix.emulator.reports import Detector
from tests.corpus.trial import Trial
from tests.mutation.division import Steps, denormal_quotient, quotient, rounded
from tests.mutation.operators import Mutant, Operator, mutants
from tests.mutation.softmax_rows import COLUMNS, ENDS, exact_rows
from tests.mutation.subjects import Subject, triton_subjects

SAMPLES = 200
NONE = frozenset[Detector]()
WITHOUT_NEWTON, WITHOUT_CORRECTION = Steps(newton=False), Steps(correction=False)


def float32(choose: random.Random, least: int) -> Fraction:
    return Fraction(choose.randrange(least, 1 << 24), 1 << 24)


@pytest.mark.parametrize("end", Approximation)
def test_all_steps_divide_rightly_and_so_do_those_without_the_correction(end: Approximation) -> None:
    choose = random.Random(end)  # noqa: S311 - a reproducible choice
    for _ in range(SAMPLES):
        numerator, divisor = float32(choose, 1), 2 * float32(choose, 1 << 23)
        right = rounded(numerator / divisor)
        assert quotient(numerator, divisor, end) == right
        assert quotient(numerator, divisor, end, WITHOUT_CORRECTION) == right


def test_steps_matter_where_a_quotient_is_next_to_the_middle_of_two_numbers() -> None:
    numerator, divisor = Fraction(8424479, 1 << 24), Fraction(16404981, 1 << 23)
    assert quotient(numerator, divisor, Approximation.LOW) == rounded(numerator / divisor)
    assert quotient(numerator, divisor, Approximation.LOW, WITHOUT_NEWTON) != rounded(numerator / divisor)
    assert quotient(numerator, divisor, Approximation.NEAREST, WITHOUT_NEWTON) == rounded(numerator / divisor)
    halves = Fraction(14)
    assert [denormal_quotient(21, halves, Approximation.NEAREST, each) for each in (Steps(), WITHOUT_CORRECTION)] == [
        2,
        1,
    ]


def test_rows_are_of_a_few_columns_that_count_in_each_quarter() -> None:
    rows = exact_rows()
    assert rows.shape == (2 + len(ENDS), COLUMNS)
    assert np.isfinite(rows).all()
    assert (rows > -200).reshape(len(rows), 4, -1).any(axis=2).all()


@pytest.fixture(scope="module")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    (subject,) = triton_subjects(tmp_path_factory.mktemp("softmax"), "softmax")
    return subject


def of_row(trial: Trial, number: int, code: CodeObject, end: Approximation = Approximation.NEAREST) -> bytes:
    """Return the bytes that one row comes to, which must be within the tolerance."""
    rows = slice(number, number + 1)
    one = replace(
        trial,
        geometry=replace(trial.geometry, grid=(1, 1, 1)),
        inputs=(trial.inputs[0][rows],),
        out=trial.out[rows],
        reference=lambda: trial.want[rows],
    )
    options = Options(detectors=NONE, numerics=Numerics(approximation=end))
    comparison, _, got = one.run(code, Device(), options)
    assert comparison.passed, comparison.detail
    return got.tobytes()


def altered(subject: Subject, operator: Operator, name: str) -> list[Mutant]:
    every = mutants(subject.listing())
    return [each for each in every if each.operator is operator and each.instruction.name == name]


@pytest.mark.needs_triton
@pytest.mark.needs_llvm
def test_a_single_step_changes_a_bit_at_the_low_end(softmax: Subject) -> None:
    (trial,) = softmax.for_ends
    steps = altered(softmax, Operator.REMOVE, "v_fmac_f32")
    assert len(steps) == 8, "a Newton step and a correction of each of four divisions"
    last_zero = altered(softmax, Operator.CONSTANT, "v_cndmask_b32")[3]
    assert last_zero.instruction.sources[0] == Operand(file=RegisterFile.CONSTANT, index=128)
    for row, mutant in enumerate((steps[-1], last_zero, steps[0])):
        code, _ = softmax.with_change(mutant)
        given, usual = (of_row(trial, row, each, Approximation.LOW) for each in (code, softmax.code))
        assert given != usual, str(mutant)


@pytest.mark.needs_triton
@pytest.mark.needs_llvm
def test_a_lane_whose_maximum_is_a_nan_is_seen_by_the_bits_of_another_nan(softmax: Subject) -> None:
    (trial,) = (each for each in softmax.trials if each.name.startswith("nan"))
    first_is_not_quieted = altered(softmax, Operator.SOURCE, "v_max_f32")[0]
    code, _ = softmax.with_change(first_is_not_quieted)
    assert of_row(trial, 0, code) != of_row(trial, 0, softmax.code)
