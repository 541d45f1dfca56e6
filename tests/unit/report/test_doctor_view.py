"""What ``doctor`` says at its end: of the main job and of a check on a GPU, each by itself."""

import io

import pytest
from rich.console import Console

from rocmatrix.machine import Health, Probe
from rocmatrix.report.doctor_view import show_probes


def probe(name: str, health: Health, *, blocks_run: bool) -> Probe:
    return Probe(name=name, health=health, detail="", needed_by="", blocks_run=blocks_run)


@pytest.mark.parametrize(
    ("run", "gpu", "said"),
    [
        (
            Health.MISSING,
            Health.OK,
            ["rocmatrix run cannot work here: missing disk", "rocmatrix check --on gpu can work here"],
        ),
        (
            Health.OK,
            Health.MISSING,
            ["rocmatrix run can work here", "rocmatrix check --on gpu cannot work here: missing driver"],
        ),
    ],
)
def test_each_job_is_judged_by_itself(run: Health, gpu: Health, said: list[str]) -> None:
    told = io.StringIO()
    probes = (probe("disk", run, blocks_run=True),)
    show_probes(probes, Console(file=told, width=100), gpu=(probe("driver", gpu, blocks_run=False),))
    assert told.getvalue().splitlines()[-2:] == said
