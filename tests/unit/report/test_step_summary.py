"""The page of a GitHub Actions run shows what the terminal shows, and foreign text stays text."""

from dataclasses import replace
from pathlib import Path

from rocmatrix.events import Stage, State, UnitFinished
from rocmatrix.plain_text import escaped
from rocmatrix.report.board import Board
from rocmatrix.report.step_summary import LIMIT, append_step_summary, fenced, markdown
from tests.unit.report import story


def test_the_grid_is_a_table_with_the_units_behind_its_letters() -> None:
    lines = markdown(story.make_subject()).splitlines()
    assert "| torch | ROCm 7.0 | ROCm 7.1 | ROCm 7.2 | ROCm 7.14 |" in lines
    assert "| 2.11 | refused | B | C failed | refused |" in lines
    assert "| 2.12 | refused | excluded | C failed | refused |" in lines
    row = next(line for line in lines if line.startswith("| B | "))
    assert "| 43.2 kB |" in row
    assert story.FILES[0].digest.removeprefix("sha256:") in row
    assert row.endswith(f"| untested\\: {story.UNTESTED} |")


def test_the_compilers_error_is_a_code_block() -> None:
    text = markdown(story.make_subject())
    assert f"```\n{story.ERROR}\n```" in text


def test_reasons_of_cells_that_are_not_served_are_there() -> None:
    text = markdown(story.make_subject())
    assert "- refused (11 cells), pair\\-unknown: " in text
    assert "- excluded (1 cell), excluded: known to hang\\, see the issue; torch 2\\.12 on ROCm 7\\.1" in text


def test_a_text_is_neither_markdown_nor_html() -> None:
    assert escaped("a|b <img src=x> [x](y) `c` *d*\n# e") == (r"a\|b \<img src\=x\> \[x\]\(y\) \`c\` \*d\* \# e")


def test_a_code_block_cannot_end_itself() -> None:
    first, *middle, last = fenced("a\n`````\n# b\x1b")
    assert first == last == "``````"
    assert middle == ["a", "`````", r"# b\x1b"]


def test_it_is_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("earlier\n")
    append_step_summary(story.make_subject(), path)
    assert path.read_text().startswith("earlier\n## rocmatrix run: exit code 4\n")


def test_a_summary_is_never_longer_than_github_takes() -> None:
    board = Board()
    unit = story.unit_id("7.2")
    event = UnitFinished(
        unit=unit, stage=Stage.BUILD, state=State.FAILED, reason="x", seconds=0.0, error="é" * LIMIT, exit_code=4
    )
    board.take(event, 0.0)
    text = markdown(replace(story.make_subject(), board=board))
    assert len(text.encode()) <= LIMIT
    assert text.endswith("(cut: the rest is in the log)\n")
