"""What exists outside rocmatrix: torch x ROCm pairs, gfx archs, C++ standards, SONAMEs. The data is ``compat.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources

import msgspec

from rocmatrix.document import require_schema
from rocmatrix.errors import InputError
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.text import in_words
from rocmatrix.plan.version import in_order, minor_key

COMPAT_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class TorchRelease:
    """A torch minor, and the C++ standard that its headers need."""

    minor: str
    cxx: str
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
class RenamedRelease:
    """A ROCm release, e.g. 10.0, whose ``torch.version.hip`` says another number, e.g. 7.15."""

    release: str
    hip: str
    date: str
    source: str
    verified: bool


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
class Compat:
    """The content of ``compat.toml``.

    Attributes:
        read: month in which the sources were read, e.g. ``2026-11``.
    """

    schema: int
    read: str
    torches: tuple[TorchRelease, ...]
    pairs: tuple[PairRow, ...]
    renamed: tuple[RenamedRelease, ...]
    hip_sonames: tuple[HipSoname, ...]
    archs: tuple[ArchSupport, ...]
    retired: tuple[RetiredArch, ...]

    def pair(self, torch: str, rocm: str) -> Pair | None:
        """Return what is known of torch wheels for a ROCm minor, or ``None`` if none are known to exist."""
        return self._pairs.get((torch, rocm))

    def rocm_of(self, torch: str) -> tuple[str, ...]:
        """Return the ROCm minors that a torch minor exists for, lowest first."""
        return self._rocm_of.get(torch, ())

    def torch_of(self, rocm: str) -> tuple[str, ...]:
        """Return the torch minors that exist for a ROCm minor, lowest first."""
        return self._torch_of.get(rocm, ())

    def arch(self, name: str) -> ArchSupport | None:
        """Return what is known of a gfx arch, or ``None`` if ROCm is not known to target it."""
        return self._archs.get(name)

    def arch_supported(self, rocm: str, arch: str) -> bool:
        """Return whether a ROCm minor targets a gfx arch, as far as is known."""
        known = self._archs.get(arch)
        return known is not None and (known.since is None or minor_key(rocm) >= minor_key(known.since))

    def replacement(self, arch: str) -> str | None:
        """Return the gfx arch that took the place of a retired one, or ``None`` if the arch is not retired."""
        return next((retired.instead for retired in self.retired if retired.name == arch), None)

    def hip_name(self, release: str) -> str | None:
        """Return what a ROCm release calls itself in ``torch.version.hip`` if that is another number, else ``None``."""
        return next((renamed.hip for renamed in self.renamed if renamed.release == release), None)

    def hip_soname(self, rocm: str) -> str:
        """Return the SONAME of libamdhip64 for a ROCm minor, e.g. ``libamdhip64.so.7``.

        Raises:
            InputError: none is known.
        """
        for row in self.hip_sonames:
            if row.covers(rocm):
                return row.soname
        known = in_words([f"{row.first} to {row.last}" for row in self.hip_sonames])
        raise InputError(
            f"the SONAME of libamdhip64 in ROCm {rocm} is not known",
            where="compat.toml: hip_sonames",
            fix=f"Known: ROCm {known}. Use one of them, or a rocmatrix that knows yours.",
        )

    def cxx_standard(self, torch: str) -> str:
        """Return the C++ standard that code including a torch minor's headers is compiled with, e.g. ``c++20``.

        Raises:
            InputError: the torch is not known.
        """
        for row in self.torches:
            if row.minor == torch:
                return row.cxx
        known = [row.minor for row in self.torches]
        raise InputError(
            f"the C++ standard of torch {torch} is not known",
            where="compat.toml: torches",
            fix=f"Known: torch {known[0]} to {known[-1]}. Use one of them, or a rocmatrix that knows yours.",
        )

    @cached_property
    def _pairs(self) -> Mapping[tuple[str, str], Pair]:
        return {
            (row.torch, rocm): Pair(
                torch=row.torch,
                rocm=rocm,
                date=row.date,
                source=row.source,
                evidence=Evidence.VERIFIED if row.verified else Evidence.UNVERIFIED,
            )
            for row in self.pairs
            for rocm in row.rocm
        }

    @cached_property
    def _rocm_of(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped(self._pairs)

    @cached_property
    def _torch_of(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((rocm, torch) for torch, rocm in self._pairs)

    @cached_property
    def _archs(self) -> Mapping[str, ArchSupport]:
        return {arch.name: arch for arch in self.archs}


@lru_cache(maxsize=1)
def load_compat() -> Compat:
    """Return the facts that come with this rocmatrix; read once."""
    text = resources.files("rocmatrix.plan").joinpath("compat.toml").read_text(encoding="utf-8")
    compat = msgspec.convert(tomllib.loads(text), Compat)
    require_schema(compat.schema, COMPAT_SCHEMA, "compat.toml")
    return compat


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for key, version in pairs:
        groups.setdefault(key, []).append(version)
    return {key: in_order(versions) for key, versions in groups.items()}
