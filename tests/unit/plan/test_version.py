"""Versions are whole numbers, not decimals."""

import pytest

from rocmatrix.plan.version import display_key, in_order, is_minor, minor_key


def test_versions_compare_as_whole_numbers() -> None:
    assert in_order(["10.0", "7.14", "7.2", "7.2", "6.4"]) == ("6.4", "7.2", "7.14", "10.0")


@pytest.mark.parametrize("text", ["2", "2.10.0", "2.010", "02.1", "2.10+cpu", "-2.1", "2.10\n", "\u0662.1", "", "2."])
def test_what_is_not_a_minor_version(text: str) -> None:
    assert not is_minor(text)
    with pytest.raises(ValueError, match="major"):
        minor_key(text)


def test_a_version_that_is_none_is_shown_first_and_fails_nothing() -> None:
    assert sorted(["10.0", "7.14", "x", "7.2"], key=display_key) == ["x", "7.2", "7.14", "10.0"]
