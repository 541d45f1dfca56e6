"""What ``scripts/build_matrix.py`` does once the Python is known to be new enough."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from private_environment import REPOSITORY
from private_environment.command import present
from private_environment.preparation import prepare
from private_environment.recipes import run_environment

_HELP = """\
usage: python3 scripts/build_matrix.py [--help] [arguments of `rocmatrix run`]

Sets up a private environment from requirements/run.txt (once; pip packages only), then plans, builds, audits, checks
and collects what matrix.yaml promises. The environment is kept in .rocmatrix/ of this repository, or in the folder
that ROCMATRIX_ENVIRONMENTS names. Once it is there, --help tells the arguments of `rocmatrix run`.
"""


def main(arguments: Sequence[str]) -> int:
    """Become ``rocmatrix run`` on this repository's matrix; return an exit code where that did not come to be."""
    return present("build_matrix", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    environment = run_environment(REPOSITORY)
    if {"-h", "--help"} & set(arguments) and not environment.is_ready():
        sys.stdout.write(_HELP)
        return 0
    prepare(environment)
    return environment.become("rocmatrix", ["run", "--matrix", str(REPOSITORY / "matrix.yaml"), *arguments])
