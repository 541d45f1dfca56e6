"""Results as tables in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.mutation.campaign import Result


def table(results: Sequence[Result], *, thorough: bool) -> Iterator[str]:
    """Return lines: what came of the mutants of each kernel and by each operator, and what noticed them."""
    yield from _by("kernel", results, lambda result: result.subject)
    yield ""
    yield from _by("operator", results, lambda result: result.operator)
    yield ""
    yield from _noticed(results, thorough=thorough)
    yield ""
    yield from _proved(results)


def score(results: Sequence[Result]) -> float:
    """Return the share of mutants that were noticed or are proved to be equivalent; 0 to 1."""
    return 1 - sum(result.survived for result in results) / max(1, len(results))


def _by(what: str, results: Sequence[Result], key: Callable[[Result], str]) -> Iterator[str]:
    yield f"| {what} | mutants | noticed | by its own cases | proved equivalent | survived | never executed | score |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    for name, group in [*sorted(groups.items()), ("all", list(results))]:
        survived = [result for result in group if result.survived]
        numbers = (
            len(group),
            sum(bool(result.noticed) for result in group),
            sum(result.shipped for result in group),
            sum(bool(result.equivalent) for result in group),
            len(survived),
            sum(not result.reached for result in survived),
        )
        yield f"| {name} | {' | '.join(map(str, numbers))} | {100 * score(group):.1f} % |"


def _noticed(results: Sequence[Result], *, thorough: bool) -> Iterator[str]:
    yield f"| noticed by | mutants{'' if thorough else ' (the first that noticed)'} | by nothing else |"
    yield "|---|---:|---:|"
    all_of = Counter(name for result in results for name in result.noticed)
    alone = Counter(result.noticed[0] for result in results if len(result.noticed) == 1)
    for name, number in all_of.most_common():
        yield f"| {name} | {number} | {alone[name] if thorough else '—'} |"


def _proved(results: Iterable[Result]) -> Iterator[str]:
    yield "| proved equivalent because | mutants |"
    yield "|---|---:|"
    for reason, number in Counter(result.equivalent for result in results if result.equivalent).most_common():
        yield f"| {reason} | {number} |"
