"""tests/cases.py is the author's code: it runs apart, and whatever is wrong with it comes back with file and line."""

from pathlib import Path

import pytest

from rocmatrix.cases import CaseDescription, Layout
from rocmatrix.check import cases_file
from rocmatrix.check.cases_file import cases_digest, read_cases
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import CheckError

HEAD = """import numpy as np
from rocmatrix.cases import Case, Layout

def ones(random):
    return np.ones((2, 3), np.float32)

def make(**changes):
    fields = dict(name="a-1", op="add", arguments={"x": ones}, reference=lambda x: x.astype(np.float64), rtol=0.0,
                  atol=0.0, cost=1.0)
    return Case(**{**fields, **changes})
"""
CASES_LINE = HEAD.count("\n") + 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "tests").mkdir(parents=True)
    return tmp_path / "project"


def read(project: Path, text: str) -> tuple[CaseDescription, ...]:
    (project / "tests" / "cases.py").write_text(text)
    scratch = project.parent / "scratch"
    scratch.mkdir()
    return read_cases(project, engine=HostEngine(), scratch=scratch, shown="kernels/k")


def problem(project: Path, text: str) -> CheckError:
    with pytest.raises(CheckError) as caught:
        read(project, text)
    return caught.value


def test_sound_cases_are_described(project: Path) -> None:
    (case,) = read(project, HEAD + "CASES = [make(layouts={'x': Layout.TRANSPOSED}, seed=5)]")
    assert (case.name, case.op, case.seed) == ("a-1", "add", 5)
    (argument,) = case.arguments
    assert (argument.name, argument.dtype, argument.shape) == ("x", "float32", (2, 3))
    assert argument.layout is Layout.TRANSPOSED


def test_a_helper_beside_the_cases_can_be_imported(project: Path) -> None:
    (project / "tests" / "helper.py").write_text("NAME = 'from-the-helper'")
    (case,) = read(project, HEAD + "import helper\nCASES = [make(name=helper.NAME)]")
    assert case.name == "from-the-helper"


def test_a_file_of_the_author_is_not_taken_for_a_library_of_ours(project: Path) -> None:
    (project / "tests" / "msgspec.py").write_text("raise RuntimeError('taken')")
    (project / "tests" / "rocmatrix.py").write_text("raise RuntimeError('taken')")
    assert len(read(project, HEAD + "CASES = [make()]")) == 1


def test_what_the_author_prints_is_not_taken_for_the_result(project: Path) -> None:
    assert len(read(project, HEAD + "print('{}')\nCASES = [make()]")) == 1


UNSOUND = {
    "CASES = 5": "must be a list",
    "CASES = []": "at least one",
    "CASES = [make(), 7]": "holds a int",
    "CASES = [make(), make()]": "two cases are called a-1",
    "CASES = [make(name='A b')]": "lower-case letters",
    "CASES = [make(op='a::b')]": "not the name of an op",
    "CASES = [make(arguments={})]": "has no arguments",
    "CASES = [make(layouts={'y': Layout.CONTIGUOUS})]": "none of its arguments",
    "CASES = [make(rtol=float('nan'))]": "rtol must be a finite number",
    "CASES = [make(atol=-1.0)]": "atol must be a finite number",
    "CASES = [make(cost=0)]": "cost must be a finite number",
    "CASES = [make(cost='much')]": "cost must be a finite number",
}


@pytest.mark.parametrize(("declaration", "what"), UNSOUND.items())
def test_an_unsound_declaration_is_reported_at_its_line(project: Path, declaration: str, what: str) -> None:
    error = problem(project, HEAD + declaration)
    assert what in error.what
    assert error.where == f"kernels/k/tests/cases.py:{CASES_LINE}"


BAD_FUNCTIONS = {
    "make(arguments={'x': bad})": ("return None", "dtype object"),
    "make(arguments={'x': bad}) ": ("return np.array(['a'])", "not one of numbers"),
    "make(arguments={'x': bad})  ": ("return np.random.rand(3)", "differs when it is made twice"),
    "make(reference=bad)": ("return x", "returns float32, not a float64 array"),
    "make(reference=bad) ": ("return 1.0", "returns float, not a float64 array"),
    "make(reference=bad)  ": ("return x * np.float64('inf')", "holds an infinity"),
}


@pytest.mark.parametrize(("call", "bad"), BAD_FUNCTIONS.items())
def test_an_unsound_function_is_reported_where_it_is_defined(project: Path, call: str, bad: tuple[str, str]) -> None:
    error = problem(project, f"{HEAD}CASES = []\ndef bad(x):\n    {bad[0]}\nCASES = [{call}]\n")
    assert bad[1] in error.what
    assert error.where == f"kernels/k/tests/cases.py:{CASES_LINE + 1}"


def test_a_reference_may_hold_nan(project: Path) -> None:
    assert len(read(project, HEAD + "CASES = [make(reference=lambda x: np.full((2, 3), np.nan))]")) == 1


def test_an_exception_is_reported_at_the_authors_own_line(project: Path) -> None:
    error = problem(project, HEAD + "def bad(random):\n    return np.ones((2, 3)) @ np.ones(2)\n"
                    "CASES = [make(arguments={'x': bad})]")  # fmt: skip
    assert error.where == f"kernels/k/tests/cases.py:{CASES_LINE + 1}"
    assert "ValueError" in error.what


def test_an_error_in_a_helper_is_reported_in_the_helper(project: Path) -> None:
    (project / "tests" / "helper.py").write_text("\n\nraise KeyError('gone')\n")
    error = problem(project, "import helper")
    assert (error.where, error.what) == ("kernels/k/tests/helper.py:3", "KeyError: 'gone'")


def test_a_layout_that_cannot_be_is_reported(project: Path) -> None:
    text = HEAD + "CASES = [make(arguments={'x': lambda r: np.ones(3)}, layouts={'x': Layout.TRANSPOSED})]"
    assert "no transposed layout" in problem(project, text).what


def test_a_file_without_cases_is_reported(project: Path) -> None:
    assert "declares no CASES" in problem(project, "x = 1").what


def test_a_syntax_error_is_reported_at_its_line(project: Path) -> None:
    error = problem(project, "x = 1\ndef broken(:\n")
    assert (error.where, error.what[:12]) == ("kernels/k/tests/cases.py:2", "SyntaxError:")


def test_leaving_the_interpreter_is_reported(project: Path) -> None:
    assert "SystemExit: 3" in problem(project, "import sys\nsys.exit(3)").what


def test_a_process_that_dies_is_reported_with_its_last_words(project: Path) -> None:
    error = problem(project, "import os\nprint('last words', flush=True)\nos.kill(os.getpid(), 11)")
    assert "signal 11" in error.what
    assert "last words" in str(error)


def test_a_process_that_vanishes_without_a_result_is_reported(project: Path) -> None:
    assert "status 0 before it was through" in problem(project, "import os\nos._exit(0)").what


def test_cases_that_take_too_long_are_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_file, "TIME_LIMIT", 1.0)
    assert "longer than 1 s" in problem(project, "while True: pass").what


def test_the_author_sees_no_secret_and_cannot_spoil_the_sources(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    text = HEAD + (
        "import os, sys, pathlib\n"
        "assert not [name for name in os.environ if 'TOKEN' in name or name == 'PYTHONPATH'], os.environ\n"
        "assert '/somewhere' not in sys.path\n"
        "assert pathlib.Path.home() != pathlib.Path(pathlib.os.path.expanduser('~root'))\n"
        "pathlib.Path(__file__).write_text('spoilt')\n"
        "CASES = [make()]\n"
    )
    assert len(read(project, text)) == 1
    assert (project / "tests" / "cases.py").read_text() == text


def test_the_digest_is_of_all_that_the_cases_may_read(project: Path) -> None:
    assert cases_digest(project) is None
    (project / "tests" / "cases.py").write_text("CASES = []")
    first = cases_digest(project)
    (project / "tests" / "__pycache__").mkdir()
    (project / "tests" / "__pycache__" / "cases.pyc").write_text("")
    assert cases_digest(project) == first
    (project / "tests" / "data.csv").write_text("1")
    assert cases_digest(project) != first
