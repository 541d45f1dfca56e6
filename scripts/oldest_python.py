"""Refuse a Python that is too old for this repository, in one sentence.

Importing this module is the check. It is written so that every Python since 2.7 parses it, and is the first import of
each script; what the scripts import after it may use everything that Python 3.11 has.
"""

import sys

OLDEST = (3, 11)  # requires-python of pyproject.toml
MISSING = 3  # rocmatrix.errors.ExitCode.ENVIRONMENT, which this Python may be unable to import

if sys.version_info < OLDEST:
    sys.stderr.write(
        "rocmatrix needs Python %d.%d or later; this is Python %d.%d (%s)\n"  # noqa: UP031 - parses on every Python
        "  Run the same command with a newer one, for example: python3.%d %s\n"
        % (OLDEST + tuple(sys.version_info[:2]) + (sys.executable, OLDEST[1], " ".join(sys.argv)))  # noqa: RUF005 - same
    )
    sys.exit(MISSING)
