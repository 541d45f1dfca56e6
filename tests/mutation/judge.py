"""Whether a mutant is noticed, and by what: everything that a check looks at."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rocmatrix import digest
from rocmatrix.emulator.analysis import analyze
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.numerics import Approximation, Numerics
from rocmatrix.emulator.reports import ALL_DETECTORS, Detector, Fault, FaultError, FaultKind, UnsupportedError
from rocmatrix.errors import InputError
from tests.corpus.trial import Trial
from tests.mutation.coverage import covered_by
from tests.mutation.operators import Mutant
from tests.mutation.patched import Devices, MutantPrograms
from tests.mutation.subjects import Subject

NUMBERS, BITS, FAULTS, REFUSED, TIME = "numbers", "bits", "faults", "refused", "time"
"""What notices a mutant beside detectors: a result out of tolerance; one within it that has other bits than that of the
original; a fault that ends the launch (bounds, endless, deadlock, illegal register…); a meaning that is not known, for
which a unit is never called tested; time."""
DETECTORS = {
    FaultKind.UNWRITTEN: Detector.UNWRITTEN,
    FaultKind.RACE: Detector.RACES,
    FaultKind.COLLISION: Detector.RACES,
    FaultKind.WAIT: Detector.WAITS,
    FaultKind.HAZARD: Detector.HAZARDS,
}
SECONDS = 60
"""What one launch may take."""
_FOLLOWED = frozenset({Detector.UNWRITTEN})
"""Detectors that get a launch of their own, because with them a launch takes several times as long."""
_ROOM = 3
"""How many times as much as the original a wave may execute before it counts as endless."""


Attempt = Callable[[], dict[str, str]]
"""Returns what notices a mutant, by name, with its words."""


class _TimeIsUpError(Exception):
    """A launch took too long."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a mutant.

    Attributes:
        noticed: what noticed it, sorted; empty for a survivor.
        shipped: whether a launch of those that users run, or the code alone, was enough, other bits aside.
        reached: whether a launch executed it at all.
        said: the first words of what noticed it.
    """

    noticed: tuple[str, ...]
    shipped: bool
    reached: bool
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A trial of the original.

    Attributes:
        trial: the launch.
        options: how it is executed.
        offsets: of the kernel, what it executes.
        instructions: of the wave that executes most.
        result: the bytes that it comes to.
        shipped: whether users run it.
    """

    trial: Trial
    options: Options
    offsets: frozenset[int]
    instructions: int
    result: bytes
    shipped: bool


class Judge:
    """Tries mutants of one kernel."""

    def __init__(
        self,
        subject: Subject,
        cache: Path,
        *,
        thorough: bool = False,
        detectors: frozenset[Detector] = ALL_DETECTORS,
    ) -> None:
        """Execute the original, which must be right and silent, to know what each trial reaches.

        Args:
            subject: the kernel.
            cache: folder for translated code.
            thorough: ask everything that could notice a mutant, instead of stopping at the first that does.
            detectors: those that are on.
        """
        self._detectors = detectors
        self._subject = subject
        self._cache = cache
        self._programs = MutantPrograms(cache, subject.image)
        self._originals = Devices(self._programs.of(None, subject.image))
        self._thorough = thorough
        self._reaches = tuple(self._reach(*launch) for launch in _launches(subject))
        assert not analyze(subject.code, subject.kernel).findings, "the original is not silent"

    @property
    def covered(self) -> frozenset[int]:
        """Offsets that some trial executes."""
        return frozenset[int]().union(*(reach.offsets for reach in self._reaches))

    def _reach(self, trial: Trial, options: Options) -> Reach:
        subject = self._subject
        covered = covered_by(trial, subject.code, options, self._cache, self._programs)
        for detectors in (self._detectors - _FOLLOWED, self._detectors & _FOLLOWED):
            original = replace(options, detectors=detectors)
            comparison, execution, got = trial.run(subject.code, self._originals.fresh(), original)
            assert comparison.passed, f"{subject.name} {trial.name}: {comparison.detail}"
            assert digest.of_bytes(got.tobytes()) == covered.result, f"{subject.name} {trial.name}: not the same twice"
            assert not execution.findings, "\n".join(map(str, execution.findings))
        return Reach(
            trial=trial,
            options=options,
            offsets=frozenset(address - subject.loaded_entry for address in covered.addresses),
            instructions=covered.most,
            result=got.tobytes(),
            shipped=any(trial is each for each in subject.shipped),
        )

    def judge(self, mutant: Mutant) -> Verdict:
        """Try a mutant; other bits within the tolerance are noticed only where nothing else is."""
        noticed: dict[str, str] = {}
        reached = bool(mutant.places & self.covered)
        shipped = False
        for is_shipped, attempt in self._attempts(mutant):
            if noticed and not self._thorough and (shipped or not is_shipped) and noticed.keys() != {BITS}:
                break
            found = tried(attempt)
            shipped = shipped or (is_shipped and bool(found.keys() - {BITS}))
            noticed = found | noticed
        if len(noticed) > 1:
            noticed.pop(BITS, None)
        first = next(iter(noticed.values()), "")
        return Verdict(noticed=tuple(sorted(noticed)), shipped=shipped, reached=reached, said=first[:300])

    def _attempts(self, mutant: Mutant) -> Iterator[tuple[bool, Attempt]]:
        """Return what to try, and whether users try it: cheap things first, and what users run before all else."""
        code, data = self._subject.with_change(mutant)
        devices = Devices(self._programs.of((self._subject.place, mutant), data))
        reaches = [reach for reach in self._reaches if mutant.places & reach.offsets]
        yield True, lambda: named(analyze(code, self._subject.kernel, self._detectors).findings)
        for shipped in (True, False):
            for detectors in (self._detectors - _FOLLOWED, self._detectors & _FOLLOWED):
                for reach in reaches:
                    if reach.shipped is shipped:
                        options = replace(reach.options, limit=_ROOM * reach.instructions, detectors=detectors)
                        yield shipped, partial(_launched, reach, code, devices, options)


def _launches(subject: Subject) -> Iterator[tuple[Trial, Options]]:
    """Return the trials, and some of them with other firmware, or at both ends of what reciprocals may give."""
    for trial in subject.trials:
        yield trial, Options()
    if subject.code.kernel(subject.kernel).descriptor.preload_length:
        yield subject.trials[0], Options(preloads=False)  # the other entry, for firmware that does not preload
    for end in (Approximation.LOW, Approximation.HIGH) if subject.approximates else ():
        for trial in (*subject.shipped, *subject.for_ends):
            yield trial, Options(numerics=Numerics(approximation=end))


def _launched(reach: Reach, code: CodeObject, devices: Devices, options: Options) -> dict[str, str]:
    comparison, execution, got = reach.trial.run(code, devices.fresh(), options)
    noticed = named(execution.findings)
    if not comparison.passed:
        noticed[NUMBERS] = comparison.detail
    elif not noticed and got.tobytes() != reach.result:
        noticed[BITS] = f"{reach.trial.name}: other bits within the tolerance"
    return noticed


def tried(attempt: Attempt) -> dict[str, str]:
    """Return what notices, by name, with its words; what ends an attempt is one of it."""
    try:
        with _limited():
            return attempt()
    except FaultError as err:
        return named((err.fault, *err.findings))
    except (UnsupportedError, InputError) as err:
        return {REFUSED: str(err)}
    except _TimeIsUpError:
        return {TIME: f"it did not end within {SECONDS} s"}


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_arguments: object) -> None:
        raise _TimeIsUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def named(findings: tuple[Fault, ...]) -> dict[str, str]:
    """Return findings by what noticed them, with their words; the first one's where there are several."""
    return {DETECTORS.get(fault.kind, FAULTS): str(fault) for fault in reversed(findings)}
