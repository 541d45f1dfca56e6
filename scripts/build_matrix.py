"""Set up a private environment once, then run the main job on this repository's build matrix.

``python3 scripts/build_matrix.py ARGS`` is ``rocmatrix run --matrix <this repository>/matrix.yaml ARGS``.
This file parses on every Python since 2.7, so that an old one gets a sentence instead of a syntax error.
"""

import os
import sys

# What sys.path[0] is already, unless Python was started with -I or -P. Not with pathlib, which Python 2 lacks.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - see above

import oldest_python  # noqa: F401 - the import is the check

# isort: split
from private_environment.main_job import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
