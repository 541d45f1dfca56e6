"""What authors ask of the audit, held against the plan: waivers name variants that exist, and are those of today.

A plan lies in the output folder while its author goes on writing matrix.yaml. What is built stays as planned; what is
waived is what matrix.yaml says when the audit begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from rocmatrix.errors import InputError
from rocmatrix.plan.audit_choice import AuditChoice
from rocmatrix.plan.matrix_model import Matrix
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.plan.text import in_words


def require_variants(choice: AuditChoice, kernel: str, variants: Iterable[str]) -> None:
    """Refuse a waiver for variants that the kernel does not have: it would wait for the first one of that name.

    Args:
        choice: what the author asks.
        kernel: its name, for the message.
        variants: names of all variants that the plan has of it.

    Raises:
        InputError: a pattern of a waiver matches none of them.
    """
    known = sorted(variants)
    for waiver in choice.waive:
        for pattern in waiver.variants:
            if not any(fnmatchcase(variant, pattern) for variant in known):
                what = f"the waiver of {waiver.rule} is stale: no variant of {kernel} matches {pattern!r}"
                fix = f"Remove the pattern, or write one for: {in_words(known) or 'no variant is planned'}."
                raise InputError(what, where=waiver.where, fix=fix)


def with_choices_of(plan: Plan, matrix: Matrix, *, where: str) -> Plan:
    """Return the plan with what the matrix asks of the audit now; nothing else of the plan changes.

    Args:
        plan: the plan, maybe of an earlier matrix.
        matrix: the matrix.yaml of now.
        where: the plan's file, for messages.

    Raises:
        InputError: the matrix has other kernels than the plan, or a waiver for a variant that the plan does not have.
    """
    choices = {entry.path: entry.audit for entry in matrix.kernels}
    if choices.keys() != {kernel.path for kernel in plan.kernels}:
        what = f"the plan is of another matrix than {matrix.where}: it has other kernels"
        raise InputError(what, where=where, fix="Run `rocmatrix plan`, or name the plan's own file with --matrix.")

    def renewed(kernel: PlannedKernel) -> PlannedKernel:
        choice = choices[kernel.path]
        require_variants(choice, kernel.name, (unit.variant for unit in plan.units if unit.kernel == kernel.name))
        return replace(kernel, audit=choice)

    return replace(plan, kernels=tuple(map(renewed, plan.kernels)))
