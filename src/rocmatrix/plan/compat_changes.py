"""What the public indexes say that ``compat.toml`` does not, and the other way round: a pure comparison.

Nothing is guessed. What a new ROCm calls itself in ``torch.version.hip``, the SONAME of its HIP runtime and the C++
standard of a new torch stand in no index: where they are missing the change says so and stays unverified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.plan.compat import Compat
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.survey import Survey
from rocmatrix.plan.text import in_words
from rocmatrix.plan.version import in_order, minor_key

_OWN_NUMBER_BELOW = (10, 0)
"""Every release below it that was read says its own number in ``torch.version.hip``; ROCm 10.0 does not."""


class ChangeKind(StrEnum):
    """What kind of difference there is."""

    NEW_TORCH = "new-torch"
    NEW_ROCM = "new-rocm"
    NEW_PAIR = "new-pair"
    CONFIRMED_PAIR = "confirmed-pair"
    VANISHED_PAIR = "vanished-pair"
    UNSEEN_PAIR = "unseen-pair"
    NEW_PYTHON = "new-python"
    NEW_ARCH = "new-arch"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference between ``compat.toml`` and the public indexes.

    Attributes:
        subject: what it is about, e.g. ``torch 2.16`` or ``torch 2.14 x ROCm 7.14``.
        says: one sentence.
        evidence: whether all that the change says was seen in an index.
        seen_in: names of the sources that list it; empty for what is in none.
        torch: torch minor, if it is about one; likewise the following.
        rocm: ROCm minor as ``torch.version.hip`` says it; ``None`` also where that is not known.
        release: ROCm minor as AMD numbers it.
        stream: release stream of ``release``.
        python: CPython minors, lowest first.
        arch: gfx arch.
    """

    kind: ChangeKind
    subject: str
    says: str
    evidence: Evidence
    seen_in: tuple[str, ...]
    torch: str | None = None
    rocm: str | None = None
    release: str | None = None
    stream: str | None = None
    python: tuple[str, ...] = ()
    arch: str | None = None


def compare(compat: Compat, survey: Survey) -> tuple[Change, ...]:
    """Return every difference, new things first; torch older than ``compat.toml`` begins with is left out."""
    seen = _Seen(compat, survey)
    return (
        *_torches(compat, seen),
        *_releases(compat, seen),
        *_pairs(compat, seen),
        *_absent(compat, survey, seen),
        *_pythons(compat, seen),
        *_archs(compat, seen),
    )


def hip_of(compat: Compat, release: str) -> str | None:
    """Return what a ROCm release says in ``torch.version.hip``; ``None`` if it is not known and cannot be told."""
    if (known := compat.release(release)) is not None:
        return known.hip
    return release if minor_key(release) < _OWN_NUMBER_BELOW else None


class _Seen:
    """The survey by torch, release and arch, each with the sources that list it."""

    def __init__(self, compat: Compat, survey: Survey) -> None:
        oldest = min(minor_key(row.minor) for row in compat.torches)
        self.pairs: dict[tuple[str, str], set[str]] = {}
        self.pythons: dict[str, set[str]] = {}
        self.torches: dict[str, set[str]] = {}
        self.releases: dict[str, set[str]] = {}
        self.streams: dict[str, str] = {}
        self.archs: dict[str, set[str]] = {}
        for one in survey.observations:
            for wheel in one.wheels or ():
                if minor_key(wheel.torch) >= oldest:
                    self.pairs.setdefault((wheel.torch, wheel.release), set()).add(one.source)
                    self.pythons.setdefault(wheel.torch, set()).add(wheel.python)
            for torch in one.torches:
                if minor_key(torch) >= oldest:
                    self.torches.setdefault(torch, set()).add(one.source)
            for release in one.releases:
                self.releases.setdefault(release, set()).add(one.source)
                if one.stream is not None:
                    self.streams[release] = one.stream
            for arch in one.archs:
                self.archs.setdefault(arch, set()).add(one.source)

    def releases_of(self, torch: str) -> tuple[str, ...]:
        return in_order(release for one, release in self.pairs if one == torch)


def _torches(compat: Compat, seen: _Seen) -> Iterator[Change]:
    known = {row.minor for row in compat.torches}
    for torch in in_order({*seen.torches, *(torch for torch, _ in seen.pairs)} - known):
        releases = seen.releases_of(torch)
        python = in_order(seen.pythons.get(torch, ()))
        found = (
            f"has wheels for ROCm {in_words(releases)}" if releases else "is published, and no wheel for ROCm was seen"
        )
        sources = set(seen.torches.get(torch, ()))
        sources.update(*(seen.pairs[torch, release] for release in releases))
        yield Change(
            kind=ChangeKind.NEW_TORCH,
            subject=f"torch {torch}",
            says=f"torch {torch} {found}; which C++ standard its headers need is not known",
            evidence=Evidence.UNVERIFIED,
            seen_in=tuple(sorted(sources)),
            torch=torch,
            python=python,
        )


def _releases(compat: Compat, seen: _Seen) -> Iterator[Change]:
    oldest = min(minor_key(row.release) for row in compat.releases)
    sources = {release: set(names) for release, names in seen.releases.items()}
    for (_, release), names in seen.pairs.items():
        sources.setdefault(release, set()).update(names)
    for release in in_order(sources):
        if compat.release(release) is not None or minor_key(release) < oldest:
            continue
        yield Change(
            kind=ChangeKind.NEW_ROCM,
            subject=f"ROCm {release}",
            says=f"ROCm {release} is published; {_unknown_of(compat, release)}",
            evidence=Evidence.UNVERIFIED,
            seen_in=tuple(sorted(sources[release])),
            rocm=hip_of(compat, release),
            release=release,
            stream=seen.streams.get(release) or _stream_of(compat, release),
        )


def _unknown_of(compat: Compat, release: str) -> str:
    hip = hip_of(compat, release)
    if hip is None:
        return "what it says in torch.version.hip is not known, so it has no cells until somebody has read that"
    unknown = ["which gfx archs it can target"]
    if not any(row.covers(hip) for row in compat.hip_sonames):
        unknown.append("the SONAME of its libamdhip64")
    return (
        f"it is taken to say {hip} in torch.version.hip, as every release below 10 does; not known: {in_words(unknown)}"
    )


def _stream_of(compat: Compat, release: str) -> str | None:
    key = minor_key(release)
    for row in compat.streams:
        if minor_key(row.first) <= key and (row.last is None or key <= minor_key(row.last)):
            return row.name
    return None


def _pairs(compat: Compat, seen: _Seen) -> Iterator[Change]:
    for torch, release in _sorted(seen.pairs):
        hip = hip_of(compat, release)
        pair = compat.pair(torch, hip) if hip else None
        known = compat.release(release)
        certain = known is not None and not known.assumed
        if pair is not None and (pair.evidence is Evidence.VERIFIED or not certain):
            continue
        kind = ChangeKind.NEW_PAIR if pair is None else ChangeKind.CONFIRMED_PAIR
        own = "whose own name for itself is not known" if hip is None else f"which calls itself {hip}"
        calls = "" if hip == release else f", {own},"
        was = "" if pair is None else "; until now only said by others"
        yield Change(
            kind=kind,
            subject=f"torch {torch} x ROCm {hip or release}",
            says=f"wheels of torch {torch} for ROCm {release}{calls} are there{was}",
            evidence=Evidence.VERIFIED if certain else Evidence.UNVERIFIED,
            seen_in=tuple(sorted(seen.pairs[torch, release])),
            torch=torch,
            rocm=hip,
            release=release,
        )


def _absent(compat: Compat, survey: Survey, seen: _Seen) -> Iterator[Change]:
    """Yield pairs of ``compat.toml`` that no index lists; nothing, unless all indexes of wheels answered."""
    if not survey.sees_all_wheels:
        return
    there = {(torch, hip_of(compat, release)) for torch, release in seen.pairs}
    known = {(row.torch, rocm) for row in compat.pairs for rocm in row.rocm}
    for torch, rocm in _sorted(known - there):
        pair = compat.pair(torch, rocm)
        gone = pair is not None and pair.evidence is Evidence.VERIFIED
        yield Change(
            kind=ChangeKind.VANISHED_PAIR if gone else ChangeKind.UNSEEN_PAIR,
            subject=f"torch {torch} x ROCm {rocm}",
            says=f"no index lists torch {torch} for ROCm {rocm} any more" if gone else "no index lists it either",
            evidence=Evidence.VERIFIED,
            seen_in=(),
            torch=torch,
            rocm=rocm,
        )


def _pythons(compat: Compat, seen: _Seen) -> Iterator[Change]:
    known = {row.minor for row in compat.torches}
    for torch in in_order(seen.pythons):
        more = in_order(seen.pythons[torch] - set(compat.pythons_of(torch)))
        if torch in known and more:
            yield Change(
                kind=ChangeKind.NEW_PYTHON,
                subject=f"torch {torch}",
                says=f"torch {torch} has wheels for CPython {in_words(more)}",
                evidence=Evidence.VERIFIED,
                seen_in=tuple(
                    sorted({name for pair, names in seen.pairs.items() if pair[0] == torch for name in names})
                ),
                torch=torch,
                python=in_order({*seen.pythons[torch], *compat.pythons_of(torch)}),
            )


def _archs(compat: Compat, seen: _Seen) -> Iterator[Change]:
    for arch in sorted(seen.archs):
        if compat.arch(arch) is None:
            yield Change(
                kind=ChangeKind.NEW_ARCH,
                subject=arch,
                says=f"there is device code of ROCm for {arch}; since which ROCm is not known",
                evidence=Evidence.UNVERIFIED,
                seen_in=tuple(sorted(seen.archs[arch])),
                arch=arch,
            )


def _sorted(pairs: Iterable[tuple[str, str]] | Mapping[tuple[str, str], object]) -> list[tuple[str, str]]:
    return sorted(pairs, key=lambda pair: (minor_key(pair[0]), minor_key(pair[1])))
