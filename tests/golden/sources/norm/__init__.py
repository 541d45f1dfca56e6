"""Golden kernel without compiled code."""

__all__ = ["norm"]


def norm(x):  # noqa: ANN001, ANN201 - as kernel authors write
    """Return x scaled to length 1."""
    return x / (x * x).sum() ** 0.5
