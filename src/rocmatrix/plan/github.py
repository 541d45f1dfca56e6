"""Rows of a GitHub Actions matrix: the units of a plan, packed into a bounded number of jobs.

GitHub allows 256 jobs in a matrix and one megabyte in a job's outputs, so that 300 cells cannot be 300 rows. Sources:
GitHub's documentation of ``jobs.<job_id>.strategy.matrix`` and ``jobs.<job_id>.outputs``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rocmatrix.document import to_json
from rocmatrix.errors import InputError
from rocmatrix.plan.model import Unit

MOST_JOBS = 256
LARGEST_OUTPUT = 1_000_000
"""Bytes; a little below the megabyte that GitHub allows for all outputs of a job."""

LONGEST_ID = 52
"""Characters of a row's id: digests of the artifacts of all rows go into one variable, and Linux takes 128 KiB."""

DEFAULT_RUNNER = ("ubuntu-latest",)

_NOARCH = "noarch"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class GithubRow:
    """One job.

    Attributes:
        id: unique in the matrix, made of letters, digits, ``_`` and ``-``: fit for artifact names.
        name: for people.
        toolchain: id of the toolchain in the plan, ``noarch`` if none is needed; several joined by ``,`` only where
            there are more toolchains than jobs.
        runner: labels of the runner.
        units: ids of the units that the job builds.
    """

    id: str
    name: str
    toolchain: str
    runner: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GithubMatrix:
    """What ``strategy.matrix`` takes.

    Attributes:
        empty: lets a workflow skip a job whose matrix would have no row.
        units: how many units the rows hold together, so that a gate can count what came of them.
        include: the rows.
    """

    empty: bool
    units: int
    include: tuple[GithubRow, ...]


def github_matrix(units: Sequence[Unit], *, max_jobs: int, runner: tuple[str, ...] = DEFAULT_RUNNER) -> GithubMatrix:
    """Return at most ``max_jobs`` rows that hold every unit once; units of one toolchain share rows first.

    Raises:
        InputError: ``max_jobs`` is not between 1 and 256, or the rows are too large for a job's output.
    """
    if not 1 <= max_jobs <= MOST_JOBS:
        fix = f"Give a number from 1 to {MOST_JOBS}, GitHub's limit for a matrix."
        raise InputError(f"{max_jobs} jobs cannot be had", where="--max-jobs", fix=fix)
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        groups.setdefault(unit.toolchain or _NOARCH, []).append(unit)
    packed = _split(groups, max_jobs) if len(groups) <= max_jobs else _merged(groups, max_jobs)
    rows = tuple(_row(number, names, chunk, runner) for number, (names, chunk) in enumerate(packed, start=1))
    matrix = GithubMatrix(empty=not rows, units=len(units), include=rows)
    if (size := len(to_json(matrix))) > LARGEST_OUTPUT:
        fix = "Plan fewer units for one workflow: narrow --only, or use torch's stable ABI."
        raise InputError(f"the rows have {size} bytes; GitHub takes {LARGEST_OUTPUT}", where="plan", fix=fix)
    return matrix


def _split(groups: dict[str, list[Unit]], max_jobs: int) -> list[tuple[tuple[str, ...], list[Unit]]]:
    """Give each toolchain a share of the jobs and spread its units evenly over them."""
    shares = dict.fromkeys(groups, 1)
    for _ in range(min(max_jobs, sum(map(len, groups.values()))) - len(groups)):
        fullest = max(groups, key=lambda name: len(groups[name]) / shares[name])
        shares[fullest] += 1
    return [((name,), units[job :: shares[name]]) for name, units in groups.items() for job in range(shares[name])]


def _merged(groups: dict[str, list[Unit]], max_jobs: int) -> list[tuple[tuple[str, ...], list[Unit]]]:
    """Let jobs build with several toolchains, since there are more toolchains than jobs."""
    names = list(groups)
    shares = [names[job::max_jobs] for job in range(max_jobs)]
    return [(tuple(share), [unit for name in share for unit in groups[name]]) for share in shares]


def _row(number: int, toolchains: tuple[str, ...], units: list[Unit], runner: tuple[str, ...]) -> GithubRow:
    more = f" and {len(units) - 1} more" if len(units) > 1 else ""
    return GithubRow(
        id=f"{number:03}-{_UNSAFE.sub('-', toolchains[0])}"[:LONGEST_ID],
        name=f"{toolchains[0]}: {units[0].id}{more}",
        toolchain=",".join(toolchains),
        runner=runner,
        units=tuple(unit.id for unit in units),
    )
