"""Rules ``python`` and ``ops-namespace``: the sources load on the lowest Python, from wherever the client puts them.

The client imports a variant under a name of its own, so that a kernel which imports itself by its own name finds
another copy or nothing; and it may hold several builds of one kernel in a process, whose ops live in namespaces of
their own, which only ``_ops.py`` knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.content_facts import PythonFile
from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.plan.extension import OPS_NAME
from rocmatrix.records import Finding, Severity

RULE = "python"
OPS_RULE = "ops-namespace"
_LAYOUT = "kernel-builder: Python code of a kernel uses relative imports only, and runs on Python 3.9"
_OPS = "kernel-builder's torch-ops check: names given to torch.library come from add_op_namespace_prefix"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each source that the lowest Python cannot load, and for imports of the kernel by its name."""
    module = _module(expected)
    for source in facts.contents.python:
        if source.problem is not None:
            yield _finding(RULE, f"{source.path} cannot be imported: {source.problem}", source.path, "Correct it.")
        for newer in source.newer:
            what = f"Python {policy.python} cannot load this: {newer.text}"
            fix = "Write it so that the lowest Python can, e.g. with `from __future__ import annotations`."
            yield _finding(RULE, what, f"{source.path}:{newer.line}", fix)
        for imported in source.absolute:
            if module and (imported.text == module or imported.text.startswith(f"{module}.")):
                what = f"it imports {imported.text} by its absolute name, which the client does not give it"
                yield _finding(RULE, what, f"{source.path}:{imported.line}", "Use a relative import: from . import ...")


def check_ops(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each namespace of ops that is written out where only ``_ops.py`` may know it."""
    del policy
    for source in facts.contents.python:
        if source.path.rpartition("/")[2] != OPS_NAME:
            yield from _written_out(source, expected)


def _written_out(source: PythonFile, expected: Expectation) -> Iterator[Finding]:
    own = {name for name in (expected.extension, _module(expected)) if name}
    for named in source.namespaces:
        if named.text in own:
            what = f"it names the namespace torch.ops.{named.text}, which changes with every build"
            fix = "Take the ops from _ops.py: from ._ops import ops."
            yield _finding(OPS_RULE, what, f"{source.path}:{named.line}", fix, _OPS)
    for named in source.registered:
        what = f"it gives torch.library the name {named.text!r}, in a namespace that all builds would share"
        fix = 'Write add_op_namespace_prefix("..."), from ._ops.'
        yield _finding(OPS_RULE, what, f"{source.path}:{named.line}", fix, _OPS)


def _module(expected: Expectation) -> str | None:
    return expected.name.replace("-", "_") if expected.name else None


def _finding(rule: str, what: str, where: str, fix: str, source: str = _LAYOUT) -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, what=what, where=where, fix=fix, source=source)
