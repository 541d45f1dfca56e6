"""Whether the plan in an output folder is one at all, and the one that matrix.yaml asks for now.

The plan says what was promised. It comes from the output folder, and in a workflow from other machines: a promise that
is missing from it would vanish without a word, with all the stages after it green.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rocmatrix.errors import InputError
from rocmatrix.plan.model import Cell, Plan, Unit
from rocmatrix.plan.text import quote
from rocmatrix.plan.toolchains import OVERRIDE

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_MOST = 3
"""Differences that a message names; the others are counted."""


def require_sound(plan: Plan, *, where: str) -> None:
    """Refuse a plan that no planner makes, whose names would lead stages astray.

    Args:
        plan: as it was read.
        where: its file, for the message.

    Raises:
        InputError: a name cannot be a folder's, something is there twice, or what another part names is not there.
    """
    fix = "Make the plan again with `rocmatrix plan`."
    kernels, units = [kernel.name for kernel in plan.kernels], [str(unit.id) for unit in plan.units]
    toolchains, variants = [str(spec.id) for spec in plan.toolchains], [unit.variant for unit in plan.units]
    for name in (*kernels, *units, *variants):
        if not is_folder_name(name):
            raise InputError(f"{quote(name)} cannot name a folder", where=where, fix=fix)
    folders = [f"{unit.kernel}/{unit.variant}" for unit in plan.units]
    for names in (kernels, toolchains, [str(cell.id) for cell in plan.cells], units, folders):
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise InputError(f"{quote(twice[0])} is there twice", where=where, fix=fix)
    a_kernel, a_unit, a_toolchain = set(kernels), set(units), set(toolchains)
    used = [(str(cell.id), cell.kernel, a_kernel) for cell in plan.cells]
    used += [(str(cell.id), cell.unit, a_unit) for cell in plan.cells if cell.unit is not None]
    used += [(str(unit.id), unit.kernel, a_kernel) for unit in plan.units]
    used += [(str(unit.id), unit.toolchain, a_toolchain) for unit in plan.units if unit.toolchain is not None]
    for user, name, known in used:
        if name not in known:
            raise InputError(f"{quote(user)} names {quote(name)}, which is not there", where=where, fix=fix)


def is_folder_name(name: str) -> bool:
    """Return whether a name from a file may become one component of a path."""
    return _SAFE_NAME.fullmatch(name) is not None


def override_of(plan: Plan) -> str | None:
    """Return the recipe that ``--toolchain`` named when the plan was made; ``None`` if matrix.yaml chose."""
    return next((spec.recipe for spec in plan.toolchains if spec.chosen_by == OVERRIDE), None)


def require_plan_of(found: Plan, wanted: Plan, *, where: str, matrix: str) -> None:
    """Refuse a plan that is not the one of a matrix.yaml.

    What authors ask of the audit may have changed since (``audit_renewal``), and so may the lines of matrix.yaml that
    chose toolchains, and warnings.

    Args:
        found: the plan in an output folder.
        wanted: what matrix.yaml and build.toml of each kernel come to now, with the same ``--toolchain``.
        where: the file of the plan that was found, for the message.
        matrix: that of matrix.yaml.

    Raises:
        InputError: they differ; it says in what.
    """
    differences = [
        difference
        for word, mine, theirs in (
            ("kernel", _kernels(found), _kernels(wanted)),
            ("cell", _pairs(found.cells), _pairs(wanted.cells)),
            ("unit", _pairs(found.units), _pairs(wanted.units)),
            ("toolchain", _toolchains(found), _toolchains(wanted)),
        )
        if mine != theirs
        for difference in _differences(word, mine, theirs)
    ]
    if differences:
        more = f", and {len(differences) - _MOST} more" if len(differences) > _MOST else ""
        raise InputError(
            f"this is not the plan of {matrix} as it is now: {', '.join(differences[:_MOST])}{more}",
            where=where,
            fix="Run `rocmatrix plan` and what follows it again, or name the plan's own matrix with --matrix.",
        )


_Named = tuple[tuple[str, object], ...]
"""Parts of a plan with their names, in order: a name may be there twice."""


def _pairs(parts: tuple[Cell, ...] | tuple[Unit, ...]) -> _Named:
    return tuple((part.id, part) for part in parts)


def _kernels(plan: Plan) -> _Named:
    return tuple((kernel.name, (kernel.path, kernel.repo_id, kernel.version)) for kernel in plan.kernels)


def _toolchains(plan: Plan) -> _Named:
    return tuple((spec.id, replace(spec, chosen_by="")) for spec in plan.toolchains)


def _differences(word: str, mine: _Named, theirs: _Named) -> list[str]:
    found, wanted = dict(mine), dict(theirs)
    said = [f"it lacks the {word} {quote(name)}" for name in _without(wanted, found)]
    said += [f"it has the {word} {quote(name)} besides" for name in _without(found, wanted)]
    said += [f"its {word} {quote(name)} is another" for name in wanted if name in found and found[name] != wanted[name]]
    return said or [f"its {word}s are in another order, or one is there twice"]


def _without(names: Mapping[str, object], others: Mapping[str, object]) -> list[str]:
    return [name for name in names if name not in others]
