"""Load a shared object as Python would and look for its entry point: ``load.py LIBRARY SYMBOL``.

Every symbol must resolve at once (RTLD_NOW), against whatever the loader finds. Prints one sentence. Exit status: 0 it
loads, 1 it does not, 3 this machine has no libstdc++.so.6.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

NO_CXX_RUNTIME = 3


def main(argv: Sequence[str]) -> int:
    """Load the library; return the exit status."""
    library, symbol = argv
    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError as err:
        print(err)  # noqa: T201 - the program's answer
        return NO_CXX_RUNTIME
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_LOCAL)[symbol]
    except (OSError, AttributeError) as err:
        print(err)  # noqa: T201
        return 1
    print(f"dlopen with RTLD_NOW and {symbol}, with {_cxx_runtime()}")  # noqa: T201
    return 0


def _cxx_runtime() -> str:
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8")
    return next((line.split()[-1] for line in mapped.splitlines() if "libstdc++.so.6" in line), "no libstdc++.so.6")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
