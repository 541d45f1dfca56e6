"""Values of the options of verbs that check numbers, as typed and as they are taken."""

from __future__ import annotations

import argparse
import math


def image_name(text: str) -> str:
    """Return the name of an image.

    Raises:
        argparse.ArgumentTypeError: no image can be called that.
    """
    from rocmatrix.plan.matrix_fields import is_image  # noqa: PLC0415 - `--help` must not wait for the plan's modules

    if not is_image(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an image")
    return text


def whole(text: str) -> int:
    """Return a whole number of at least 0 and below 2^64.

    Raises:
        argparse.ArgumentTypeError: the text is not one.
    """
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 64):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^64 - 1")
    return int(text)


def budget(text: str) -> float | None:
    """Return floating-point operations from a number of 10^9 of them; ``None`` for ``all``.

    Raises:
        argparse.ArgumentTypeError: the text is neither.
    """
    if text == "all":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is neither `all` nor a positive number of GFLOP")
    return value * 1e9
