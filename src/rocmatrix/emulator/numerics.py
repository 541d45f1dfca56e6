"""What is chosen about arithmetic that no public document fixes to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MatrixArithmetic(StrEnum):
    """How the sums of matrix instructions are formed (``matrix_unit``)."""

    FAST = "fast"
    """Product by product in float32: quick, and within a few ulp of the largest term."""
    EXACT = "exact"
    """As the published bit-accurate model of CDNA 3 forms them (``matrix_exact``)."""


class Approximation(StrEnum):
    """Which result ``v_rcp``, ``v_rsq``, ``v_sqrt``, ``v_exp`` and ``v_log`` of float32 and float16 give.

    An error below 1 ulp leaves two, the numbers next to the true result; one where that is a number itself.
    """

    NEAREST = "nearest"
    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """The choice for one launch.

    Attributes:
        matrix: how the sums of matrix instructions are formed.
        approximation: what reciprocals, roots, exponentials and logarithms give.
    """

    matrix: MatrixArithmetic = MatrixArithmetic.FAST
    approximation: Approximation = Approximation.NEAREST

    def __str__(self) -> str:
        """Return the choice in the words of reports."""
        matrix = "exact matrix arithmetic (CDNA 3 model)" if self.exact_matrix else "fast matrix arithmetic"
        if self.approximation is Approximation.NEAREST:
            return matrix
        return f"{matrix}, reciprocals and roots at the {self.approximation} end of 1 ulp"

    @property
    def exact_matrix(self) -> bool:
        """Whether matrix instructions follow the bit-accurate model."""
        return self.matrix is MatrixArithmetic.EXACT


DEFAULT_NUMERICS = Numerics()
"""What a launch does that chooses nothing."""
EXACT_MATRICES = Numerics(matrix=MatrixArithmetic.EXACT)
