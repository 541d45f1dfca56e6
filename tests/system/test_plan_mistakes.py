"""Every mistake meets ``rocmatrix plan``: exit code 2, one message that says where, what was found, what is right."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.system.plan_mistakes import MISTAKES, Mistake, make_mistake
from tests.system.plan_processes import MANIFEST, MATRIX, Ended, make_project, meet

PLAIN = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
IDS = [f"{mistake.kind}, {mistake.file}, {number}" for number, mistake in enumerate(MISTAKES)]
NUMBERS = range(len(MISTAKES))
FOREIGN = [
    n for n in NUMBERS if any(word in MISTAKES[n].kind for word in ("character", "command", "expression", "marks"))
]
"""Those whose values would act on a terminal or a workflow if they were printed as they are."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Ended]:
    """How ``rocmatrix plan`` ends for each mistake, for people."""
    return _met(NUMBERS, tmp_path_factory.mktemp("people"), ("plan",), PLAIN)


@pytest.fixture(scope="module")
def in_a_workflow(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Ended]:
    """How it ends for the foreign ones within GitHub Actions, with a document for programs."""
    environment = {**PLAIN, "GITHUB_ACTIONS": "true"}
    ends = _met(FOREIGN, tmp_path_factory.mktemp("workflow"), ("plan", "--json"), environment)
    return dict(zip(FOREIGN, ends, strict=True))


def _met(numbers: Sequence[int], folder: Path, words: tuple[str, ...], environment: dict[str, str]) -> list[Ended]:
    folders = [folder / str(number) for number in numbers]
    for number, place in zip(numbers, folders, strict=True):
        make_mistake(MISTAKES[number], place)
    return meet(folders, words, environment)


def _is_harmless(text: str) -> bool:
    """Return whether no value in a text can act on a terminal, a log or a workflow."""
    lines = text.splitlines()
    return (
        text.isascii()
        and all(line.isprintable() for line in lines)
        and not any(line.lstrip().startswith("::") for line in lines)
        and "##[" not in text
        and "${{" not in text
    )


@pytest.mark.parametrize("number", NUMBERS, ids=IDS)
def test_one_message_says_where_what_was_found_and_what_is_allowed(number: int, told: list[Ended]) -> None:
    mistake, ended = MISTAKES[number], told[number]
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert ended.err.startswith(f"error: {mistake.where}"), ended.err
    assert ended.err.count("error: ") == 1 + mistake.found.count("error: ")
    assert mistake.found in ended.err
    assert mistake.allowed in ended.err
    assert len(ended.err) < 1000
    assert _is_harmless(ended.err)


@pytest.mark.parametrize("number", FOREIGN, ids=[IDS[number] for number in FOREIGN])
def test_programs_and_workflows_get_the_same(number: int, in_a_workflow: dict[int, Ended]) -> None:
    mistake, ended = MISTAKES[number], in_a_workflow[number]
    error = json.loads(ended.out)["error"]
    assert (ended.code, error["exit_code"]) == (2, 2)
    assert f"{error['where']}: ".startswith(mistake.where.partition(": ")[0])
    assert mistake.found in f"{error['what']}\n  {error['fix']}"
    assert _is_harmless(error["what"])
    assert _is_harmless(error["fix"] or "")
    commands = [line for line in ended.err.splitlines() if line.lstrip().startswith("::")]
    folds = ("::group::rocmatrix plan: progress", "::endgroup::")  # of the verb itself
    annotations = [line for line in commands if line not in folds]
    assert len(annotations) == 1, ended.err
    assert annotations[0].startswith("::error ")


def test_no_mistake_costs_more_than_200_megabytes(told: list[Ended]) -> None:
    assert max(ended.megabytes for ended in told) < 200


def test_byte_order_marks_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    forms = [(MATRIX, MANIFEST), (f"\ufeff{MATRIX}", MANIFEST), (MATRIX, f"\ufeff{MANIFEST}")]
    forms += [(MATRIX.replace("\n", "\r\n"), MANIFEST), (MATRIX, MANIFEST.replace("\n", "\r\n"))]
    folders = [tmp_path / str(number) for number in range(len(forms))]
    for folder, (matrix, manifest) in zip(folders, forms, strict=True):
        make_project(folder, matrix=matrix.encode(), manifest=manifest.encode())
    ends = meet(folders, ("plan", "--json"), PLAIN)
    assert [ended.code for ended in ends] == [0] * len(forms)
    assert all(json.loads(ended.out)["cells"] == json.loads(ends[0].out)["cells"] for ended in ends)


def test_every_kind_of_mistake_is_there_for_both_files() -> None:
    only_yaml = {"aliases that explode", "python tags", "dates of words", "booleans of words", "files of spaces"}
    only_yaml |= {"versions with patch levels", "right-to-left marks", "missing kernels"}
    kinds = {file: {one.kind for one in MISTAKES if one.file == file} for file in ("matrix.yaml", "build.toml")}
    assert kinds["matrix.yaml"] - kinds["build.toml"] == only_yaml
    assert isinstance(MISTAKES[0], Mistake)
