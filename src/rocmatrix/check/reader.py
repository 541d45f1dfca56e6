"""The process that imports ``tests/cases.py``: the author's code, run apart from rocmatrix and from the sources.

It is started with ``python -I``, on a copy of the project's tests, and writes what it found into one file. Nothing that
the author's code prints or does can be mistaken for the result.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from rocmatrix import document
from rocmatrix.cases import CaseDescription
from rocmatrix.check.validation import UnsoundCaseError, describe_cases

CASES_NAME = "cases.py"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why the cases cannot be used: the file relative to the tests folder, its line, and what is wrong there."""

    file: str
    line: int
    what: str


@dataclass(frozen=True, kw_only=True)
class CasesReport:
    """What the process found: the cases, or the problem with them."""

    cases: tuple[CaseDescription, ...] = ()
    problem: Problem | None = None


def main(tests: str, report: str) -> None:
    """Read ``cases.py`` of a tests folder and write the report file."""
    made = read(Path(tests).resolve())
    Path(report).write_bytes(document.to_json(made))


def read(tests: Path) -> CasesReport:
    """Return what ``cases.py`` of a tests folder declares; whatever it raises becomes the problem."""
    sys.path.insert(0, str(tests))
    cases = tests / CASES_NAME
    try:
        module = import_file(cases)
        if not hasattr(module, "CASES"):
            return CasesReport(problem=Problem(file=CASES_NAME, line=1, what="it declares no CASES"))
        return CasesReport(cases=describe_cases(module.CASES))
    except UnsoundCaseError as problem:
        file, line = _place_of_code(tests, problem.code) or (CASES_NAME, _line_of_cases(cases))
        return CasesReport(problem=Problem(file=file, line=line, what=problem.what))
    except (Exception, SystemExit) as err:  # noqa: BLE001 - the author's code may raise anything; all of it is reported
        return CasesReport(problem=_problem(tests, err))


def import_file(path: Path) -> ModuleType:
    """Import a file under the name that it has."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _problem(tests: Path, err: BaseException) -> Problem:
    what = "".join(traceback.format_exception_only(err)).strip().splitlines()[-1]
    if isinstance(err, SyntaxError) and (place := _place(tests, err.filename, err.lineno)):
        return Problem(file=place[0], line=place[1], what=what)
    frames = traceback.extract_tb(err.__traceback__)
    places = [place for frame in frames if (place := _place(tests, frame.filename, frame.lineno))]
    file, line = places[-1] if places else (CASES_NAME, 1)
    return Problem(file=file, line=line, what=what)


def _place_of_code(tests: Path, code: CodeType | None) -> tuple[str, int] | None:
    return _place(tests, code.co_filename, code.co_firstlineno) if code else None


def _place(tests: Path, filename: str | None, line: int | None) -> tuple[str, int] | None:
    """Return file and line relative to the tests folder; ``None`` if it is not the author's."""
    if filename is None or not Path(filename).is_relative_to(tests):
        return None
    return Path(filename).relative_to(tests).as_posix(), line or 1


def _line_of_cases(cases: Path) -> int:
    """Return the line where ``CASES`` is first assigned."""
    for node in ast.parse(cases.read_bytes()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "CASES" for target in targets):
            return node.lineno
    return 1
