"""What ``scripts/run_tests.py`` does once the Python is known to be new enough."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from private_environment import REPOSITORY
from private_environment.command import present
from private_environment.cpu_torch import Wheel, find_torch, read_choice
from private_environment.environment import PrivateEnvironment
from private_environment.linters import lint
from private_environment.preparation import prepare
from private_environment.recipes import test_environment, torch_choice, torch_environment
from rocmatrix.errors import MissingRequirementError

NO_TORCH_VARIABLE = "ROCMATRIX_NO_TORCH"  # tests/conftest.py says it of each test that needs torch

_EPILOG = """\
Everything else is handed to pytest: paths, -k, -x and so on. Groups of tests that this machine cannot run are named at
the end of the run. Environments are kept in .rocmatrix/ of this repository, or in the folder that
ROCMATRIX_ENVIRONMENTS names.
"""


def main(arguments: Sequence[str]) -> int:
    """Become pytest, or run the linters; return an exit code where this process did not become pytest."""
    return present("run_tests", _run, arguments)


def pytest_arguments(arguments: Sequence[str], *, fast: bool) -> list[str]:
    """Return the arguments of pytest in the repository's folder, to which relative paths are changed.

    Without a path among them it is all tests, or the unit tests with ``fast``.
    """
    changed = [_absolute(argument) for argument in arguments]
    if not any(_names_a_path(argument) for argument in arguments):
        changed.append(str(REPOSITORY / "tests" / ("unit" if fast else "")))
    return changed


def _run(arguments: Sequence[str]) -> int:
    options, rest = _parser().parse_known_args(arguments)
    test = test_environment(REPOSITORY)
    prepare(test)
    if options.lint:
        return lint(test)
    rest = pytest_arguments(rest, fast=options.fast)
    if options.require_all:
        rest.append("--require-all")
    os.chdir(REPOSITORY)
    if options.fast:
        test.become("pytest", rest)
    return _become_with_torch(test, ["--require-group=needs_torch", *rest])


def _become_with_torch(test: PrivateEnvironment, arguments: Sequence[str]) -> NoReturn:
    """Become pytest with a CPU torch, or without one where there is none: then the tests that need it fail."""
    find = cache(lambda: _find(test))
    torch = torch_environment(REPOSITORY, test, find)
    try:
        if not torch.is_ready():
            find()
        prepare(torch)
    except MissingRequirementError as error:
        print(f"run_tests: {error}\n  Going on; the tests that need torch will fail.", file=sys.stderr, flush=True)
        test.become("pytest", arguments, {NO_TORCH_VARIABLE: error.what})
    path = f"{test.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    torch.become("pytest", arguments, {"PATH": path})


def _find(test: PrivateEnvironment) -> Wheel:
    return find_torch(test.python, read_choice(torch_choice(REPOSITORY)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 scripts/run_tests.py",
        description="Set up a private environment (once; pip packages only) and run the tests in it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--fast", action="store_true", help="the unit tests alone; no torch")
    what.add_argument("--lint", action="store_true", help="run the linters instead of the tests")
    parser.add_argument("--require-all", action="store_true", help="a group that this machine cannot run is an error")
    return parser


def _names_a_path(argument: str) -> bool:
    return not argument.startswith("-") and Path(argument.partition("::")[0]).exists()


def _absolute(argument: str) -> str:
    path, separator, test = argument.partition("::")
    return f"{Path(path).absolute()}{separator}{test}" if _names_a_path(argument) else argument
