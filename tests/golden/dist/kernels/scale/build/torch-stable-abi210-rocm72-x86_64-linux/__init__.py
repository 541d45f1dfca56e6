"""Golden kernel with compiled code that registers no ops."""

from ._ops import ops

__all__ = ["ops"]
