"""A campaign: mutants judged side by side, results kept line by line so that it can be taken up again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import msgspec

from rocmatrix import digest
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.translator.compiler import emulator_digest
from tests.mutation.beside_zeros import BesideZeros
from tests.mutation.bounds import arguments_of
from tests.mutation.edges import Edges
from tests.mutation.equivalence import Prover, Reason
from tests.mutation.judge import Judge
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Mutant, Operator, mutants
from tests.mutation.subjects import Subject
from tests.mutation.terms import SELECTS
from tests.mutation.unseen import Unseen
from tests.mutation.wider import Wider


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one mutant: a line of the results.

    Attributes:
        subject: the kernel; with ``key`` it tells the mutant from all others.
        operator: what was done.
        instruction: to what.
        noticed: what noticed it.
        shipped: whether what users run was enough to notice it.
        equivalent: why it cannot be told from the original, where that is proved; else ``""``.
        reached: whether a launch executed it.
        said: the words of what noticed it, or the mutant itself.
    """

    subject: str
    key: str
    operator: str
    instruction: str
    noticed: tuple[str, ...]
    shipped: bool
    equivalent: str
    reached: bool
    said: str

    @property
    def survived(self) -> bool:
        """Whether nothing noticed it and nothing is proved of it."""
        return not self.noticed and not self.equivalent


@dataclass(frozen=True, kw_only=True)
class Header:
    """First line of the results of a subject: of which code and which emulator they are."""

    subject: str
    identity: str


_judge: Judge | None = None
_reasons: Reasons | None = None


class Reasons:
    """Why a mutant of one kernel is the same program, where that is proved: quick reasons before slow ones."""

    def __init__(self, subject: Subject) -> None:
        """Take the kernel's code."""
        listing, descriptor = subject.listing(), subject.code.kernel(subject.kernel).descriptor
        self._prover = Prover(listing, preloads=descriptor.preload_length > 0)
        (work_items,) = {trial.geometry.block[0] for trial in subject.trials}
        arguments = arguments_of(descriptor, work_items, subject.sizes)
        self._lockstep = Lockstep(listing, self._prover, arguments)

    def reason(self, mutant: Mutant) -> str:
        """Return the reason, ``""`` where none is proved."""
        known = self._prover.reason(mutant)
        if known is not None:
            return known
        if self._lockstep.is_same(mutant):
            return Reason.SAME_EFFECT
        if mutant.instruction.name in SELECTS and self._lockstep.is_same(mutant, whichever_nan=True):
            return Reason.SAME_NUMBERS
        return Reason.IDLE if self._is_idle_branch(mutant) else ""

    def _is_idle_branch(self, mutant: Mutant) -> bool:
        """Say whether a changed branch on EXEC is only met with no lane active, when both of its ways do the same."""
        branch = mutant.instruction
        if not branch.name.startswith("s_cbranch_exec") or not self._lockstep.is_idle(branch.address):
            return False
        jumps, goes_on = branch.branch_target, branch.next_address
        if branch.name == "s_cbranch_execz":  # it jumps, and the mutant goes on
            return self._does_nothing(branch, goes_on, jumps)
        return mutant.operator is Operator.REMOVE or self._does_nothing(branch, jumps, goes_on)

    def _does_nothing(self, branch: Instruction, place: int, target: int) -> bool:
        """Say whether code without the branch does nothing where no lane is active, up to some place."""
        idle = self._prover.idle.of(place, target)
        return idle is not None and branch.address not in idle.places


def run(
    subject: Subject,
    *,
    cache: Path,
    results: Path,
    sample: int | None = None,
    seed: int = 0,
    processes: int = 2,
    thorough: bool = False,
    again: bool = False,
    edges: bool = False,
) -> tuple[Result, ...]:
    """Judge the mutants of a subject that have no result yet; return all results.

    Args:
        subject: the kernel.
        cache: folder for translated code.
        results: file of this subject's results; one of other code or of another emulator is begun anew.
        sample: how many mutants, drawn with ``seed``; ``None`` for all.
        seed: of the sample.
        processes: that judge side by side.
        thorough: ask everything of each mutant.
        again: judge survivors again, whose results are kept: there are more trials or reasons now.
        edges: try survivors at every edge of a tile, and follow their results there, which takes a minute or more.
    """
    chosen = list(mutants(subject.listing()))
    if sample is not None and sample < len(chosen):
        chosen = random.Random(seed).sample(chosen, sample)  # noqa: S311 - a reproducible choice
    known = _take_up(results, Header(subject=subject.name, identity=_identity(subject, thorough=thorough)))
    rest = [mutant for mutant in chosen if mutant.key not in known or (again and known[mutant.key].survived)]
    with results.open("ab", buffering=0) as file:
        for result in _judged(subject, rest, cache, processes, thorough=thorough) if rest else ():
            known[result.key] = result
            file.write(msgspec.json.encode(result) + b"\n")
        if edges:
            survivors = [mutant for mutant in chosen if known[mutant.key].survived]
            for mutant, result in _at_edges(subject, cache, survivors, known):
                known[mutant.key] = result
                file.write(msgspec.json.encode(result) + b"\n")
    return tuple(known[mutant.key] for mutant in chosen)


def _at_edges(
    subject: Subject, cache: Path, survivors: Sequence[Mutant], known: Mapping[str, Result]
) -> Iterator[tuple[Mutant, Result]]:
    """Return new results of survivors: what launches at every edge of a tile do not depend on, or notice."""
    unseen, wider, edges = Unseen(subject, cache).among(survivors), Wider(subject, cache), Edges(subject, cache)
    zeros = BesideZeros(subject, cache)
    for mutant in survivors:
        result = known[mutant.key]
        if mutant in unseen:
            yield mutant, replace(result, equivalent=Reason.UNSEEN)
        elif wider.is_unused(mutant):
            yield mutant, replace(result, equivalent=Reason.UNUSED)
        elif zeros.is_hidden(mutant):
            yield mutant, replace(result, equivalent=Reason.BESIDE_ZEROS)
        elif noticed := edges.noticed(mutant):
            said = next(iter(noticed.values()))[:300]
            yield mutant, replace(result, noticed=tuple(sorted(noticed)), said=said)


def _identity(subject: Subject, *, thorough: bool) -> str:
    return f"{digest.of_bytes(subject.image)} {emulator_digest()} {'thorough' if thorough else 'first'}"


def _take_up(results: Path, header: Header) -> dict[str, Result]:
    first, *lines = results.read_bytes().splitlines() if results.exists() else [b""]
    if first != msgspec.json.encode(header):
        results.write_bytes(msgspec.json.encode(header) + b"\n")
        return {}
    read = [msgspec.json.decode(line, type=Result) for line in lines if line.endswith(b"}")]
    return {result.key: result for result in read}


def _judged(
    subject: Subject, chosen: Sequence[Mutant], cache: Path, processes: int, *, thorough: bool
) -> Iterator[Result]:
    """Judge in processes that were forked from this one, so that the original is tried once."""
    global _judge, _reasons
    _judge, _reasons = Judge(subject, cache, thorough=thorough), Reasons(subject)
    if processes <= 1:
        yield from map(_one, _named(subject, chosen))
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        yield from pool.map(_one, _named(subject, chosen), chunksize=4)


def _named(subject: Subject, chosen: Iterable[Mutant]) -> Iterator[tuple[str, Mutant]]:
    return ((subject.name, mutant) for mutant in chosen)


def _one(named: tuple[str, Mutant]) -> Result:
    name, mutant = named
    assert _judge is not None
    assert _reasons is not None
    verdict = _judge.judge(mutant)
    return Result(
        subject=name,
        key=mutant.key,
        operator=mutant.operator,
        instruction=mutant.instruction.name,
        noticed=verdict.noticed,
        shipped=verdict.shipped,
        equivalent="" if verdict.noticed else _reasons.reason(mutant),
        reached=verdict.reached,
        said=verdict.said or str(mutant),
    )
