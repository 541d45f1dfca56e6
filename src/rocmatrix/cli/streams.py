"""Standard streams that can be written to, whatever whoever started rocmatrix did to them."""

from __future__ import annotations

import os
import sys

_STANDARD = (0, 1, 2)


def open_closed() -> None:
    """Open the standard streams that were closed (``rocmatrix plan >&-``) on the null device.

    Python has ``None`` for them, and the first file that is opened would take their number, for every program that is
    started to write into.
    """
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # noqa: FBT003 - its parameter has no name
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as we do
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
