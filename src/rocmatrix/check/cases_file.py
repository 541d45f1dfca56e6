"""``tests/cases.py`` of a kernel project, read in a process of its own."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import rocmatrix
from rocmatrix import digest, document
from rocmatrix.cases import CaseDescription
from rocmatrix.check.reader import CASES_NAME, CasesReport
from rocmatrix.digest import Digest
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.errors import CheckError

TESTS_FOLDER = "tests"

TIME_LIMIT = 300.0
"""Seconds for importing the cases, making every argument and computing every reference."""

_BOOTSTRAP = "import sys; sys.path.insert(0, sys.argv[1]); from rocmatrix.check.reader import main; main(*sys.argv[2:])"
_SHOWN_LINES = 5


def cases_digest(project: Path) -> Digest | None:
    """Return the digest of everything that ``tests/cases.py`` may read; ``None`` if the project has no such file."""
    tests = project / TESTS_FOLDER
    if not (tests / CASES_NAME).is_file():
        return None
    files = sorted(path for path in tests.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return digest.of_named_files({path.relative_to(tests).as_posix(): path for path in files})


def read_cases(project: Path, *, engine: Engine, scratch: Path, shown: str) -> tuple[CaseDescription, ...]:
    """Return what a project's cases are, validated: unique names, repeatable arguments, float64 references.

    The author's code runs isolated (``python -I``): a scrubbed environment, a copy of the tests folder as its only
    files besides rocmatrix and the installed packages, and a time limit.

    Args:
        project: folder of the kernel project.
        engine: where the process runs.
        scratch: empty folder to work in.
        shown: the project's path as people know it.

    Raises:
        CheckError: the cases cannot be used; with file and line where the author's code is to blame.
    """
    tests = scratch / TESTS_FOLDER
    where = f"{shown}/{TESTS_FOLDER}"
    try:
        shutil.copytree(project / TESTS_FOLDER, tests, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as err:
        raise CheckError(f"the tests cannot be copied: {err}", where=where, fix="Mend or remove that file.") from err
    report = scratch / "report.json"
    package_folder = Path(rocmatrix.__file__).parent.parent
    argv = (sys.executable, "-I", "-c", _BOOTSTRAP, str(package_folder), str(tests), str(report))
    completed = engine.run(Command(argv=argv, cwd=tests, timeout=TIME_LIMIT, writable=(scratch,)))
    return _cases(report, completed, where)


def _cases(report: Path, completed: Completed, where: str) -> tuple[CaseDescription, ...]:
    try:
        found = document.from_json(report.read_bytes(), CasesReport)
    except (OSError, document.DocumentError) as err:
        raise CheckError(_end(completed), where=f"{where}/{CASES_NAME}", fix=_last_lines(completed)) from err
    if found.problem:
        raise CheckError(
            found.problem.what,
            where=f"{where}/{found.problem.file}:{found.problem.line}",
            fix="Mend the cases; no kernel was executed.",
        )
    return found.cases


def _end(completed: Completed) -> str:
    """Return how a process that left no report ended."""
    if completed.returncode is None:
        return f"reading the cases took longer than {TIME_LIMIT:.0f} s"
    if completed.returncode < 0:
        name = signal.strsignal(-completed.returncode) or "an unknown signal"
        return f"the process that read the cases was ended by signal {-completed.returncode} ({name})"
    return f"the process that read the cases ended with status {completed.returncode} before it was through"


def _last_lines(completed: Completed) -> str:
    lines = completed.output.strip().splitlines()[-_SHOWN_LINES:]
    return "Its last lines: " + " | ".join(lines) if lines else "It printed nothing; run the file with python to see."
