"""Sizes and times read well, and foreign text cannot act on a terminal."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.plain_text import LONGEST, bounded, escaped
from rocmatrix.report.text import clock, count, duration, encodable, one_line, size, visible
from rocmatrix.report.workflow_commands import guarded


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_no_control_character_survives(text: str) -> None:
    shown = visible(text)
    assert all(
        character == "\n" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        for character in shown
    )


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_what_would_be_an_expression_in_a_workflow_is_written_out() -> None:
    assert visible("a${{x}}.py\n") == "a$\\x7b{x}}.py\n"
    assert one_line("a${{x}}.py") == "a$\\x7b{x}}.py"


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_harmless_text_is_not_touched(text: str) -> None:
    assert visible(text).replace("$\\x7b{", "${{") == text.replace("$\\x7b{", "${{")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("over\rwritten", r"over\rwritten"),
        ("if (\u202eadmin", r"if (\u202eadmin"),
        ("\udcff.hip", r"\udcff.hip"),
        ("one\r\ntwo", "one\ntwo"),
        ("\tx", "    x"),
        ("a\u2028b", r"a\u2028b"),
    ],
)
def test_controls_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_499, "999.5 kB"),
        (999_999, "1.0 MB"),
        (3_400_000, "3.4 MB"),
        (2_500_000_000_000_000, "2500.0 TB"),
    ],
)
def test_a_size_is_said_in_the_unit_that_suits_it(number: int, shown: str) -> None:
    assert size(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (7620.0, "2 h 07 min")],
)
def test_a_duration_never_shows_sixty_of_anything(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@given(st.floats(min_value=0, max_value=99 * 3600))
def test_a_clock_fits_its_column(seconds: float) -> None:
    assert len(clock(seconds)) <= len("2:07:00") + 1


def test_a_clock_counts_minutes_and_hours() -> None:
    assert [clock(value) for value in (3.1, 61.5, 7620.0)] == ["3.1 s", "1:02", "2:07:00"]


def test_nouns_agree_with_their_number() -> None:
    assert [count(number, "cell") for number in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]


def test_a_name_that_is_not_utf8_can_be_written_as_json() -> None:
    assert encodable("\udcff.hip").encode("utf-8") == rb"\udcff.hip"


@pytest.mark.parametrize(
    "text", ["::error title=x::y", "  ::stop-commands::x", "a ##[add-mask]b", "##[error]x", "\n::debug::x"]
)
def test_one_line_is_no_command_of_a_workflow(text: str) -> None:
    assert guarded(one_line(text)) == one_line(text)
    assert guarded(" ".join(text.split())) != " ".join(text.split()), "the control"


def test_a_name_with_colons_inside_stays_as_it_is() -> None:
    assert one_line("ns::kernel<float>") == "ns::kernel<float>"


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=2 * LONGEST))
def test_a_bounded_text_is_one_short_line_and_bounding_it_again_changes_nothing(text: str) -> None:
    line = bounded(text)
    assert len(line) <= LONGEST
    assert len(line.splitlines()) <= 1
    assert bounded(line) == line


def test_markdown_and_html_see_nothing_but_the_text() -> None:
    assert escaped("[x](y)\n<img a=b>|`") == r"\[x\]\(y\) \<img a\=b\>\|\`"
