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
from rocmatrix.plan.compat_model import (
    ArchSupport,
    HipSoname,
    Pair,
    PairRow,
    Processors,
    RetiredArch,
    RocmRelease,
    Stream,
    TorchPythons,
    TorchRelease,
)
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.text import in_words
from rocmatrix.plan.version import in_order, minor_key

__all__ = [
    "COMPAT_SCHEMA",
    "ArchSupport",
    "Compat",
    "HipSoname",
    "Pair",
    "PairRow",
    "Processors",
    "RetiredArch",
    "RocmRelease",
    "Stream",
    "TorchPythons",
    "TorchRelease",
    "load_compat",
    "read_compat",
    "shipped_compat",
]

COMPAT_SCHEMA = 1


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
    streams: tuple[Stream, ...]
    releases: tuple[RocmRelease, ...]
    pythons: tuple[TorchPythons, ...]
    hip_sonames: tuple[HipSoname, ...]
    archs: tuple[ArchSupport, ...]
    retired: tuple[RetiredArch, ...]
    processors: tuple[Processors, ...]

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
        known = self._releases.get(release)
        return known.hip if known is not None and known.hip != release else None

    def release(self, release: str) -> RocmRelease | None:
        """Return what is known of a minor release of ROCm by AMD's own number, or ``None``."""
        return self._releases.get(release)

    def pythons_of(self, torch: str) -> tuple[str, ...]:
        """Return the CPython minors that ROCm wheels of a torch minor are made for; none if that is not known."""
        return next((row.python for row in self.pythons if row.torch == torch), ())

    def is_processor(self, name: str) -> bool:
        """Return whether some LLVM knows a gfx arch, whether or not any ROCm targets it."""
        return name in self._processors

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

    @cached_property
    def _releases(self) -> Mapping[str, RocmRelease]:
        return {row.release: row for row in self.releases}

    @cached_property
    def _processors(self) -> frozenset[str]:
        return frozenset(name for row in self.processors for name in row.names)


@lru_cache(maxsize=1)
def load_compat() -> Compat:
    """Return the facts that come with this rocmatrix; read once."""
    return read_compat(shipped_compat(), "compat.toml")


def shipped_compat() -> bytes:
    """Return the text of the facts that come with this rocmatrix."""
    return resources.files("rocmatrix.plan").joinpath("compat.toml").read_bytes()


def read_compat(content: bytes, where: str) -> Compat:
    """Return the facts that a ``compat.toml`` holds.

    Raises:
        InputError: it is not TOML, or not of this form.
    """
    try:
        compat = msgspec.convert(tomllib.loads(content.decode("utf-8")), Compat)
    except (ValueError, msgspec.ValidationError) as err:  # not UTF-8, not TOML, or of another form
        fix = "Give a compat.toml as rocmatrix has it."
        raise InputError(f"this is no compat.toml: {ascii(str(err))[1:-1]}", where=where, fix=fix) from err
    require_schema(compat.schema, COMPAT_SCHEMA, where)
    return compat


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for key, version in pairs:
        groups.setdefault(key, []).append(version)
    return {key: in_order(versions) for key, versions in groups.items()}
