"""A second stage for survivors: launches with every number of rows and of columns that a tile at an edge may have.

There are too many of them for every mutant, and most mutants are noticed long before.
"""

from __future__ import annotations

import random
from functools import cached_property, partial
from pathlib import Path

from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.reports import ALL_DETECTORS, Detector
from tests.corpus.trial import Trial
from tests.mutation.bench import Bench
from tests.mutation.judge import BITS, NUMBERS, named, tried
from tests.mutation.operators import Mutant
from tests.mutation.patched import Devices
from tests.mutation.subjects import Subject

_DETECTORS = ALL_DETECTORS - {Detector.UNWRITTEN}


class Edges(Bench):
    """Tries survivors of one kernel on the launches of its edges."""

    def __init__(self, subject: Subject, cache: Path) -> None:
        """Take the kernel, and the folder for translated code."""
        super().__init__(subject, cache)
        self._results: dict[int, bytes] = {}

    @cached_property
    def _trials(self) -> tuple[Trial, ...]:
        """The launches, in an order in which neighbours are far from each other."""
        trials = list(self._subject.edge_trials)
        random.Random(0).shuffle(trials)  # noqa: S311 - a reproducible order
        return tuple(trials)

    def noticed(self, mutant: Mutant) -> dict[str, str]:
        """Return what notices a mutant first, with its words, as ``Judge`` does; nothing if no launch does.

        Raises:
            AssertionError: the original is not right and silent in that launch.
        """
        code, data = self._subject.with_change(mutant)
        devices = Devices(self._programs.of((self._subject.place, mutant), data))
        for number, trial in enumerate(self._trials):
            found = tried(partial(self._launched, number, trial, code, devices))
            if found:
                return found
        return {}

    def _launched(self, number: int, trial: Trial, code: CodeObject, devices: Devices) -> dict[str, str]:
        wanted = self._result(number)
        noticed, got = _launch(trial, code, devices)
        if not noticed and got != wanted:
            noticed[BITS] = f"{trial.name}: other bits within the tolerance"
        return noticed

    def _result(self, number: int) -> bytes:
        """Return the bytes that the original's launch comes to."""
        if number not in self._results:
            trial, subject = self._trials[number], self._subject
            noticed, got = _launch(trial, subject.code, self._originals)
            assert not noticed, f"{subject.name} {trial.name}: the original has {noticed}"
            self._results[number] = got
        return self._results[number]


def _launch(trial: Trial, code: CodeObject, devices: Devices) -> tuple[dict[str, str], bytes]:
    comparison, execution, got = trial.run(code, devices.fresh(), Options(detectors=_DETECTORS))
    noticed = named(execution.findings)
    if not comparison.passed:
        noticed[NUMBERS] = f"{trial.name}: {comparison.detail}"
    return noticed, got.tobytes()
