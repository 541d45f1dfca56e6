"""What users of a revision get: which cells it serves, and which it would stop serving, by the client's resolver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocmatrix.plan.model import Cell, CellState, Plan
from rocmatrix.release.resolver import Choice, Machine, choose


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A torch and a ROCm of users, both minors."""

    torch: str
    rocm: str

    def __str__(self) -> str:
        """Return them as a cell's id has them."""
        return f"torch{self.torch}-rocm{self.rocm}"


@dataclass(frozen=True, kw_only=True)
class Misserved:
    """A promised cell whose users would not get the variant that was made for them.

    Attributes:
        cell: which one.
        wanted: the variant that was made for it.
        found: the one that the client chooses; ``None`` for none.
        why: for people.
    """

    cell: Cell
    wanted: str
    found: str | None
    why: str

    @property
    def shadowed(self) -> bool:
        """Whether another variant is loaded instead."""
        return self.found is not None

    def __str__(self) -> str:
        """Return it as one sentence."""
        gets = f"the client chooses {self.found}" if self.found else "the client finds nothing"
        return f"{self.cell.id} is promised {self.wanted}, but {gets}: {self.why}"


def misserved(plan: Plan, kernel: str, variants: Iterable[str]) -> tuple[Misserved, ...]:
    """Return the promised cells that a set of variants does not serve as planned, other people's variants included.

    Args:
        plan: what was promised.
        kernel: whose cells.
        variants: all folders of ``build/`` in the revision.
    """
    names = tuple(variants)
    found = []
    for cell in plan.cells:
        if cell.kernel != kernel or cell.state is not CellState.SERVED or cell.unit is None:
            continue
        wanted = plan.unit(cell.unit).variant
        choice = choose(names, Machine(torch=cell.torch, rocm=cell.rocm))
        if choice.variant != wanted:
            why = _reason(wanted, names, choice)
            found.append(Misserved(cell=cell, wanted=wanted, found=choice.variant, why=why))
    return tuple(found)


def _reason(wanted: str, names: tuple[str, ...], choice: Choice) -> str:
    if wanted not in names:
        return f"{wanted} is not there"
    if wanted in choice.rejected:
        return f"it rejects {wanted}: {choice.rejected[wanted]}"
    return f"it prefers it to {wanted}" if choice.variant else f"it cannot read the name {wanted}"


def served(pairs: Iterable[Pair], variants: Iterable[str]) -> frozenset[Pair]:
    """Return the pairs that some variant of a revision serves."""
    names = tuple(variants)
    return frozenset(pair for pair in pairs if choose(names, Machine(torch=pair.torch, rocm=pair.rocm)).variant)


def dropped(pairs: Iterable[Pair], before: Iterable[str], after: Iterable[str]) -> tuple[Pair, ...]:
    """Return the pairs that one revision serves and another does not, sorted by name.

    Args:
        pairs: every torch and ROCm that users may have.
        before: variants of the earlier revision.
        after: variants of the later one.
    """
    all_pairs = tuple(pairs)
    lost = served(all_pairs, before) - served(all_pairs, after)
    return tuple(sorted(lost, key=str))
