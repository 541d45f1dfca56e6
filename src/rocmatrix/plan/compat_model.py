"""The rows of ``compat.toml`` as values; each says where it was read, when, and whether one of us has seen it."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.plan.model import Evidence
from rocmatrix.plan.version import minor_key


@dataclass(frozen=True, kw_only=True)
class TorchRelease:
    """A torch minor, and the C++ standard that its headers need."""

    minor: str
    cxx: str
    date: str
    source: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class TorchPythons:
    """CPython minors, e.g. ``3.14``, that the ROCm wheels of one torch minor are made for."""

    torch: str
    python: tuple[str, ...]
    date: str
    source: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """ROCm minors, as ``torch.version.hip`` says them, that wheels of one torch minor were published for."""

    torch: str
    rocm: tuple[str, ...]
    date: str
    source: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One published combination of torch and ROCm; ``source`` says who has seen it."""

    torch: str
    rocm: str
    date: str
    source: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One of ROCm's two release streams, with its first and last release as AMD numbers them.

    Attributes:
        name: ``classic`` (packages of repo.radeon.com) or ``therock``.
        last: ``None`` while the stream goes on.
    """

    name: str
    first: str
    date: str
    source: str
    verified: bool
    last: str | None = None


@dataclass(frozen=True, kw_only=True)
class RocmRelease:
    """A minor release of ROCm, e.g. 10.0, its stream, and what it says in ``torch.version.hip``, e.g. 7.15.

    Attributes:
        assumed: whether ``hip`` is the release's own number only because that of similar releases is; pairs with it
            stay unverified however many wheels there are.
    """

    release: str
    stream: str
    hip: str
    date: str
    source: str
    verified: bool
    assumed: bool = False


@dataclass(frozen=True, kw_only=True)
class HipSoname:
    """SONAME of libamdhip64 for the HIP minors from ``first`` to ``last``, both included."""

    first: str
    last: str
    soname: str
    date: str
    source: str
    verified: bool

    def covers(self, rocm: str) -> bool:
        """Return whether this is the SONAME in a ROCm minor."""
        return minor_key(self.first) <= minor_key(rocm) <= minor_key(self.last)


@dataclass(frozen=True, kw_only=True)
class ArchSupport:
    """A gfx arch that ROCm targets from HIP minor ``since`` on; ``None`` if no bound is known."""

    name: str
    date: str
    source: str
    verified: bool
    since: str | None = None


@dataclass(frozen=True, kw_only=True)
class RetiredArch:
    """A gfx arch that was withdrawn, and the one that took its place."""

    name: str
    instead: str
    date: str
    source: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Processors:
    """AMDGPU processors, generic ones included, that some LLVM knows."""

    names: tuple[str, ...]
    date: str
    source: str
    verified: bool
