"""Refuse a Python that is too old for this repository, in one sentence.

Importing this module is the check. It is written so that every Python since 2.7 parses it, and is the first import of
each script; what the scripts import after it may use everything that Python 3.11 has.
"""

import sys

OLDEST = (3, 11)  # requires-python of pyproject.toml
MISSING = 3  # rocmatrix.errors.ExitCode.ENVIRONMENT, which this Python may be unable to import

if sys.version_info < OLDEST:
    sys.stderr.write(
        "rocmatrix needs Python {}.{} or later; this is Python {}.{} ({})\n"
        "  Run the same command with a newer one, for example: python{}.{} {}\n".format(
            OLDEST[0],
            OLDEST[1],
            sys.version_info[0],
            sys.version_info[1],
            sys.executable,
            OLDEST[0],
            OLDEST[1],
            " ".join(sys.argv),
        )
    )
    sys.exit(MISSING)
