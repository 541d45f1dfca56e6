"""What all need that execute mutants of one kernel behind the judge: programs of it and of them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from tests.mutation.patched import Devices, MutantPrograms
from tests.mutation.subjects import Subject


class Bench:
    """Executes one kernel and its mutants; programs are made when they are first asked for."""

    def __init__(self, subject: Subject, cache: Path) -> None:
        """Take the kernel, and the folder for translated code."""
        self._subject = subject
        self._cache = cache

    @cached_property
    def _programs(self) -> MutantPrograms:
        return MutantPrograms(self._cache, self._subject.image)

    @cached_property
    def _originals(self) -> Devices:
        return Devices(self._programs.of(None, self._subject.image))
