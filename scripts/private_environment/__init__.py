"""Private environments: folders with a Python, the locked packages and nothing else, made once and then reused.

Standard library only, since it runs before anything is installed. The errors are rocmatrix's own: the folder ``src`` is
put on ``sys.path`` here, and ``rocmatrix.errors`` needs nothing but the standard library.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

if (_SOURCE := str(REPOSITORY / "src")) not in sys.path:
    sys.path.insert(0, _SOURCE)
