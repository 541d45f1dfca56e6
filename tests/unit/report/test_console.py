"""Output survives any terminal, locale and reader."""

import io
import os

import pytest
from rich.text import Text

from rocmatrix.report.console import make_console
from rocmatrix.report.reporter import Verbosity, make_reporter
from rocmatrix.report.summary import summarize
from tests.unit.report import story

LACKING = "· … × “x” ☃"  # noqa: RUF001 - what some encodings lack is the point


def written_in(encoding: str, text: str) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    make_console(stream).print(text)
    stream.flush()
    return raw.getvalue().decode(encoding).rstrip("\n")


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", LACKING),
        ("cp1252", LACKING.replace("☃", r"\u2603")),
        ("ascii", '. ~ x "x" \\u2603'),
        ("latin-1", '· ~ {} "x" {}'.format("\xd7", r"\u2603")),
    ],
)
def test_what_an_encoding_lacks_is_replaced_by_what_is_nearest(encoding: str, shown: str) -> None:
    assert written_in(encoding, LACKING) == shown


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_whole_run_can_be_told_in_any_locale(encoding: str) -> None:
    raw = io.BytesIO()
    console = make_console(io.TextIOWrapper(raw, encoding=encoding))
    with make_reporter(console, Verbosity.VERBOSE) as reporter:
        for event in story.events():
            reporter.emit(event)
    summarize(story.make_subject(), console, explain=True)
    console.file.flush()
    assert b"exit code 4" in raw.getvalue()


def test_markup_in_a_text_is_not_taken_for_markup() -> None:
    assert written_in("utf-8", "[bold]x[/bold] :smile: [red]") == "[bold]x[/bold] :smile: [red]"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    make_console(stream).print(Text("x", style="red"))
    assert "31m" not in stream.getvalue()


def test_force_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    make_console(stream).print(Text("x", style="red"))
    assert "31m" in stream.getvalue()


def test_a_log_gets_plain_lines_even_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO()
    with make_reporter(make_console(stream), Verbosity.NORMAL) as reporter:
        for event in story.events():
            reporter.emit(event)
    assert "\x1b[?25l" not in stream.getvalue()
    assert f"build   done      {story.unit_id('7.1')}" in stream.getvalue()


def test_columns_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    assert make_console(io.StringIO()).width == 33
    monkeypatch.delenv("COLUMNS")
    assert make_console(io.StringIO()).width == 120


def test_a_reader_that_left_stops_the_output_and_not_the_work() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        console = make_console(stream)
        with make_reporter(console, Verbosity.NORMAL) as reporter:
            for event in story.events():
                reporter.emit(event)
        assert len(reporter.board.failures) == 1
        assert console.quiet
