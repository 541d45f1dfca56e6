"""Errors and exit codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix import errors
from rocmatrix.errors import ExitCode, InputError, RocmatrixError, worst


def test_the_exit_codes_are_those_of_the_interface() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0,
        "BUG": 1,
        "INPUT": 2,
        "ENVIRONMENT": 3,
        "BUILD": 4,
        "AUDIT": 5,
        "CHECK": 6,
        "RELEASE": 7,
        "BENCH": 8,
        "INTERRUPTED": 130,
    }


def test_every_kind_of_error_has_an_exit_code_of_its_own() -> None:
    kinds = RocmatrixError.__subclasses__()
    assert len({kind.exit_code for kind in kinds}) == len(kinds)
    assert errors.ExitCode.BUG not in {kind.exit_code for kind in kinds}


def test_a_message_says_where_what_and_what_to_do() -> None:
    error = InputError("2.10 is the number 2.1", where="matrix.yaml:4", fix='Write "2.10".')
    assert str(error) == 'matrix.yaml:4: 2.10 is the number 2.1\n  Write "2.10".'


@given(st.lists(st.sampled_from([0, 3, 4, 5, 6, 8]).map(ExitCode)))
def test_the_worst_code_follows_the_precedence(codes: list[ExitCode]) -> None:
    order = [4, 5, 6, 8, 3]
    expected = min((order.index(code) for code in codes if code), default=None)
    assert worst(codes) == (0 if expected is None else order[expected])


def test_a_code_that_ends_a_run_cannot_be_collected() -> None:
    with pytest.raises(ValueError, match="end a run"):
        worst([ExitCode.INPUT])
