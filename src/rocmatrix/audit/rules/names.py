"""Rule ``names``: everything is called what the ``kernels`` client and the binary itself call it."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.metadata import METADATA_NAME
from rocmatrix.plan.extension import EXTENSION_SUFFIX, OPS_NAME
from rocmatrix.plan.manifest_fields import KERNEL_NAME
from rocmatrix.plan.model import Abi
from rocmatrix.plan.variants import parse_variant
from rocmatrix.records import Finding, Severity

RULE = "names"
_SOURCE = "layout of a variant as kernels 0.17.2 loads it"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each name that the client would not accept or that two places spell differently."""
    del policy
    if not facts.folder:
        return
    for stray in facts.strays:
        what = f"{stray} is not a regular file of this directory"
        yield _finding(what, stray, "Put a copy of the file there; links out of the directory are not published.")
    for file in facts.refused:
        yield _finding(file.what, file.path, "Give it a short name in UTF-8, and fewer files and folders around it.")
    yield from _kernel(facts, expected)
    if facts.metadata is not None and facts.contents.metadata_problem is not None:
        what = f"the client refuses {METADATA_NAME}: {facts.contents.metadata_problem}"
        yield _finding(what, METADATA_NAME, "Collect the variant again, or write the key as the client wants it.")
    if expected.variant is not None and not _is_variant(expected.variant):
        what = f"the client does not know a ROCm variant of the name {expected.variant}"
        yield _finding(what, expected.variant, "Name it e.g. torch213-cxx11-rocm72-x86_64-linux.")
    if (
        not expected.ours
        and facts.metadata is None
        and not any(file.path == METADATA_NAME for file in facts.unreadable)
    ):
        yield _finding(
            f"there is no {METADATA_NAME}: the client does not load the variant", METADATA_NAME, "Collect it again."
        )
    files = {file.path for file in facts.files}
    module = expected.name.replace("-", "_") if expected.name else None
    if "__init__.py" not in files and f"{module}/__init__.py" not in files:
        yield _finding("there is no __init__.py: nothing can be imported", "__init__.py", "Add the Python package.")
    yield from _extension(facts, expected)


def _is_variant(name: str) -> bool:
    try:
        parse_variant(name)
    except ValueError:
        return False
    return True


def _kernel(facts: VariantFacts, expected: Expectation) -> Iterator[Finding]:
    name = expected.name
    if name is not None and not KERNEL_NAME.fullmatch(name):
        yield _finding(f"the client refuses {name!r} as the name of a kernel", "metadata.json: name", _KERNEL_FIX)
    if facts.metadata is not None and name is not None and facts.metadata.name != name:
        what = f"metadata.json calls the kernel {facts.metadata.name!r}, but it is {name!r}"
        yield _finding(what, "metadata.json: name", "Collect the variant again.")


_KERNEL_FIX = "Use lower-case letters, digits and dashes, a letter first and no dash at the end."


def _extension(facts: VariantFacts, expected: Expectation) -> Iterator[Finding]:
    """Give a finding wherever file, ``_ops.py`` and metadata do not agree on one extension module."""
    stems = [binary.path.removesuffix(EXTENSION_SUFFIX) for binary in facts.binaries]
    if expected.abi is Abi.NOARCH:
        for binary in facts.binaries:
            what = f"{binary.path} is compiled code in a variant that promises to have none"
            yield _finding(what, binary.path, "Leave it out, or name the variant after its torch and ROCm.")
        return
    if expected.extension is None:
        return
    if not expected.extension.isidentifier():
        what = f"{expected.extension!r} cannot be the name of a Python module"
        yield _finding(what, "metadata.json: id", "Build the variant again.")
    if not facts.unreadable and stems != [expected.extension]:
        found = ", ".join(binary.path for binary in facts.binaries) or "none"
        what = f"the one extension module must be {expected.extension}{EXTENSION_SUFFIX}; found: {found}"
        yield _finding(what, ".", "Build it under that name, and put no other shared object beside it.")
    if facts.metadata is not None and facts.metadata.id != expected.extension:
        what = f"metadata.json says {facts.metadata.id!r}, but the extension is {expected.extension!r}"
        yield _finding(what, "metadata.json: id", "Collect the variant again.")
    yield from _ops(facts, expected.extension)


def _ops(facts: VariantFacts, extension: str) -> Iterator[Finding]:
    """Give a finding wherever ``_ops.py`` speaks of another module than the extension that lies beside it."""
    fix = "Generate it anew with the build."
    if facts.ops is None:
        if not any(file.path == OPS_NAME for file in facts.unreadable):
            yield _finding(f"there is no {OPS_NAME}", OPS_NAME, "Generate it, as kernel-builder does.")
        return
    for imported in facts.ops.imports:
        if imported != extension:
            yield _finding(f"{OPS_NAME} imports {imported}, but the extension is {extension}", OPS_NAME, fix)
    if extension not in facts.ops.imports:
        yield _finding(f"{OPS_NAME} does not import {extension}: its ops would never be registered", OPS_NAME, fix)
    for namespace in facts.ops.namespaces:
        if namespace != extension:
            yield _finding(
                f"{OPS_NAME} speaks of the namespace {namespace}, but the ops are in {extension}", OPS_NAME, fix
            )


def _finding(what: str, where: str, fix: str) -> Finding:
    return Finding(rule=RULE, severity=Severity.ERROR, what=what, where=where, fix=fix, source=_SOURCE)
