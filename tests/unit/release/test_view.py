"""A repository as a release sees it: what somebody else disturbs begins again, after a wait."""

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import MovedError
from rocmatrix.release.persistence import Patience, Persistence
from rocmatrix.release.view import View


class Clock:
    """Notes what was slept."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.slept: list[float] = []

    def now(self) -> float:
        """Return the seconds that were slept."""
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        """Note it."""
        self.slept.append(seconds)


def disturbed(times: int, patience: Patience) -> tuple[Clock, list[str], int | ReleaseError]:
    """Return the waits, what was said, and what came of an attempt that is disturbed some times."""
    clock, said, attempts = Clock(), list[str](), list[int]()
    hub = ApiHub("http://127.0.0.1:9", Credential(token=None, source=""))  # nobody is asked
    view = View(hub=hub, persistence=Persistence(clock, patience, said.append), repository="acme/scale")

    def attempt() -> int:
        attempts.append(1)
        if len(attempts) <= times:
            raise MovedError("v2 is at 1234")
        return len(attempts)

    try:
        return clock, said, view.undisturbed(attempt)
    except ReleaseError as err:
        return clock, said, err


def test_what_is_disturbed_waits_longer_each_time_and_says_why() -> None:
    clock, said, result = disturbed(3, Patience())
    assert (result, clock.slept) == (4, [1.0, 2.0, 4.0])
    assert said[0] == "acme/scale: somebody else changed it meanwhile (v2 is at 1234); again in 1 s"


@pytest.mark.parametrize(
    ("patience", "why"), [(Patience(attempts=3), "3 attempts"), (Patience(total=2.5), "time is up")]
)
def test_what_is_disturbed_again_and_again_comes_to_an_end(patience: Patience, why: str) -> None:
    _, _, result = disturbed(100, patience)
    assert isinstance(result, ReleaseError)
    assert f"({why})" in result.what
