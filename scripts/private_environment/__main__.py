"""``python3 -m private_environment NAME``: set up an environment and print the folder of its commands.

For workflows, which put that folder on their path. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from private_environment import REPOSITORY
from private_environment.command import present
from private_environment.preparation import prepare
from private_environment.recipes import named_environment

_NAMES = ("run", "release", "watch")


def main(arguments: Sequence[str]) -> int:
    """Set up the environment that is named; return an exit code."""
    return present("private_environment", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m private_environment", description=__doc__, allow_abbrev=False)
    parser.add_argument("name", choices=_NAMES, help="run: to build and check; release: to release; watch: both")
    environment = named_environment(REPOSITORY, parser.parse_args(arguments).name)
    prepare(environment)
    print(environment.python.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
