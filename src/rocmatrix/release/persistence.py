"""Changes of a Hub that a lost answer, a restart or another release cannot do twice: look, act, look again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rocmatrix.errors import MissingRequirementError, ReleaseError, RocmatrixError
from rocmatrix.release.hub import TransientError

T = TypeVar("T")


class Clock(Protocol):
    """Time, in seconds that only go forward."""

    def now(self) -> float:
        """Return the time."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return the time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a release goes on when a Hub does not answer.

    Attributes:
        attempts: of one change.
        first_wait: seconds before the second attempt; doubled each time.
        longest_wait: seconds; a Hub that asks for more ends the release.
        total: seconds of the whole release.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 120.0
    total: float = 3600.0


GiveUp = Callable[[str], RocmatrixError]
"""Makes the error for a Hub that failed too often from what is to be said."""


def stopped(what: str) -> ReleaseError:
    """Return the error of a release that stopped on its way."""
    return ReleaseError(what, fix="Run the same command again: a release goes on where this one stopped.")


def unreachable(what: str) -> MissingRequirementError:
    """Return the error of a command that only looks, and changes nothing."""
    return MissingRequirementError(what, fix="Check the network and HF_ENDPOINT, then run again.")


class Persistence:
    """Repeats what may be repeated, within limits, and says what it waits for."""

    def __init__(
        self, clock: Clock, patience: Patience, tell: Callable[[str], None], *, give_up: GiveUp = stopped
    ) -> None:
        """Start the clock of the whole release.

        Args:
            clock: the time.
            patience: the limits.
            tell: called with a sentence before each wait.
            give_up: makes the error that ends it: ``stopped`` for a release, ``unreachable`` for what only looks.
        """
        self._give_up = give_up
        self._clock = clock
        self._patience = patience
        self._tell = tell
        self._end = clock.now() + patience.total

    def ask(self, what: str, question: Callable[[], T]) -> T:
        """Return the answer to a question that changes nothing, asked again while the Hub fails.

        Raises:
            RocmatrixError: that of ``give_up``: it failed too often, or time is up.
        """
        for attempt in range(1, self._patience.attempts + 1):
            try:
                return question()
            except TransientError as err:
                self._wait(what, attempt, err)
        raise AssertionError("the last attempt raises")

    def ensure(self, what: str, look: Callable[[], T | None], act: Callable[[], object]) -> T:
        """Return what ``look`` finds, acting until it finds something.

        ``act`` runs only when ``look`` has just found nothing, so that an action whose answer was lost is not repeated.

        Args:
            what: the change, for people: ``the tag v1.0.0``.
            look: whether it is done; ``None`` if it is not.
            act: does it.

        Raises:
            RocmatrixError: that of ``give_up``: it failed too often, time is up, or the Hub says that it is done and
                does not show it.
        """
        for attempt in range(1, self._patience.attempts + 1):
            found = self.ask(what, look)
            if found is not None:
                return found
            try:
                act()
            except TransientError as err:
                self._wait(what, attempt, err)
                continue
            found = self.ask(what, look)
            if found is not None:
                return found
            self._wait(what, attempt, TransientError("the Hub accepted it, and does not show it yet"))
        raise AssertionError("the last attempt raises")

    def _wait(self, what: str, attempt: int, err: TransientError) -> None:
        seconds = self._patience.first_wait * 2 ** (attempt - 1) if err.wait is None else err.wait
        late = self._clock.now() + seconds > self._end
        if attempt >= self._patience.attempts or late or seconds > self._patience.longest_wait:
            why = "time is up" if late else f"{attempt} attempts"
            if seconds > self._patience.longest_wait:
                why = f"the Hub asks to wait for {seconds:.0f} s"
            raise self._give_up(f"{what}: {err} ({why})") from err
        self._tell(f"{what}: {err}; again in {seconds:.0f} s")
        self._clock.sleep(seconds)
