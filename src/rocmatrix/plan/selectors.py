"""``--only``: which units of a plan a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from rocmatrix.errors import InputError
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.plan.text import quote

_SHOWN_IDS = 100


def select(plan: Plan, patterns: Sequence[str]) -> tuple[Unit, ...]:
    """Return the units whose id matches at least one shell pattern, in the plan's order; all if there is no pattern.

    Raises:
        InputError: a pattern matches nothing; the message lists the ids.
    """
    if not patterns:
        return plan.units
    for pattern in patterns:
        if not any(fnmatchcase(unit.id, pattern) for unit in plan.units):
            ids = [unit.id for unit in plan.units]
            more = [f"and {len(ids) - _SHOWN_IDS} more"] if len(ids) > _SHOWN_IDS else []
            listed = "".join(f"\n    {unit_id}" for unit_id in (*ids[:_SHOWN_IDS], *more))
            raise InputError(f"{quote(pattern)} matches no unit", where="--only", fix=f"The units are:{listed}")
    return tuple(unit for unit in plan.units if any(fnmatchcase(unit.id, pattern) for pattern in patterns))


def narrow(plan: Plan, units: Sequence[Unit]) -> Plan:
    """Return the part of a plan that some of its units are about: their cells, kernels and toolchains."""
    ids, kernels = {unit.id for unit in units}, {unit.kernel for unit in units}
    toolchains = {unit.toolchain for unit in units}
    return replace(
        plan,
        kernels=tuple(kernel for kernel in plan.kernels if kernel.name in kernels),
        toolchains=tuple(spec for spec in plan.toolchains if spec.id in toolchains),
        cells=tuple(cell for cell in plan.cells if cell.unit in ids),
        units=tuple(units),
    )
