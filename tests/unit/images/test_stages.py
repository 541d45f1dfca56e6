"""Which images of a classic build are its own to remove; the texts are those of docker 20.10."""

from rocmatrix.images.building import last_of_stages

BASE, COPIED, MADE, FINAL = (digit * 12 for digit in "abcd")
FIRST = ["Step 1/5 : ARG BASE", f"Step 2/5 : FROM ${{BASE}} AS build\n ---> {BASE}", "Step 3/5 : COPY pins /context/"]


def _lines(*said: str) -> list[str]:
    return "\n".join((*FIRST, *said)).split("\n")


def test_a_base_is_not_its_own_whatever_fails_on_it() -> None:
    assert list(last_of_stages(_lines())) == []


def test_of_each_stage_the_last_image_is_its_own_also_of_one_that_ended_early() -> None:
    begun = _lines(f" ---> {COPIED}", "Step 4/5 : RUN true", " ---> Running in 0123456789ab")
    assert list(last_of_stages(begun)) == [COPIED]
    ended = [*begun, f" ---> {MADE}", "Step 5/6 : from scratch", " ---> ", "Step 6/6 : COPY --from=build / /"]
    assert list(last_of_stages([*ended, f" ---> {FINAL}"])) == [MADE, FINAL]
