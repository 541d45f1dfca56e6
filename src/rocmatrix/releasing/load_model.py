"""What came of importing published variants: frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.audit.published import PublishedAudit


class LoadState(StrEnum):
    """How the import of one variant ended."""

    LOADED = "loaded"
    FAILED = "failed"
    UNDECIDED = "undecided"
    PASSED_OVER = "passed over"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What came of one variant.

    Attributes:
        variant: its directory.
        state: ``undecided`` where this machine lacks what an import needs, ``passed over`` where it was not to be
            imported: not for this torch, or not what it says.
        said: why it is not loaded, one sentence; ``""`` if it is.
        hip: which HIP runtime was there: this machine's ``own``, a ``stand-in`` of rocmatrix that executes nothing, or
            ``none``.
        operators: what it registered with torch, sorted.
    """

    variant: str
    state: LoadState
    said: str = ""
    hip: str = "none"
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """What a Python with its torch made of the stable-ABI variants of a kernel.

    Attributes:
        python: its version.
        torch: its torch, e.g. ``2.15.0+cpu``.
        rocm: the ROCm of its torch; ``None`` for a torch without, which is told to say that it has the variant's.
        client: version of the ``kernels`` client.
        variants: every stable-ABI variant for ROCm on x86-64 that was published.
    """

    python: str
    torch: str
    rocm: str | None
    client: str
    variants: tuple[Loaded, ...]

    def in_state(self, state: LoadState) -> tuple[Loaded, ...]:
        """Return the variants that ended so."""
        return tuple(each for each in self.variants if each.state is state)


@dataclass(frozen=True, kw_only=True)
class LoadedKernel(PublishedAudit):
    """What ``rocmatrix verify --load`` prints with ``--json``: the audit, and what came of the imports."""

    load: LoadReport
