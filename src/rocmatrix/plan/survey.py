"""What the public indexes said when they were asked, as values; asking them is not done here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class TorchWheel:
    """A wheel of torch for Linux x86-64 that an index lists.

    Attributes:
        torch: torch minor, e.g. ``2.14``.
        release: ROCm release as AMD numbers it, e.g. ``10.0``; not what ``torch.version.hip`` says.
        python: CPython minor, e.g. ``3.14``.
    """

    torch: str
    release: str
    python: str


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one source that answered lists.

    Attributes:
        source: its name.
        url: what was read, for the ``source`` of a fact; ``pip`` for what pip's configuration names.
        wheels: torch wheels for ROCm; ``None`` if this is no index of them.
        releases: ROCm minors as AMD numbers them.
        stream: the release stream that ``releases`` belong to; ``None`` if the source is of no one stream.
        torches: torch minors published at all, for whatever hardware.
        archs: gfx archs that there is device code for.
    """

    source: str
    url: str
    wheels: frozenset[TorchWheel] | None = None
    releases: tuple[str, ...] = ()
    stream: str | None = None
    torches: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A source that gave no answer that could be used, and why.

    Attributes:
        lists_wheels: whether it is an index of torch wheels: without all of those nothing is said to have vanished.
    """

    source: str
    reason: str
    lists_wheels: bool


@dataclass(frozen=True, kw_only=True)
class Survey:
    """All sources, those that answered and those that did not."""

    observations: tuple[Observation, ...]
    silences: tuple[Silence, ...]

    @property
    def sees_all_wheels(self) -> bool:
        """Whether every index of torch wheels answered, so that what is in none of them is nowhere."""
        answered = any(one.wheels is not None for one in self.observations)
        return answered and not any(one.lists_wheels for one in self.silences)
