"""Rule ``archs``: the GPUs that were promised, that metadata lists and that the binary holds code for are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocmatrix.audit.facts import Binary, DeviceFile, Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.binary.facts import Bundle, CodeObject
from rocmatrix.records import Finding, Severity

RULE = "archs"
_SOURCE = "metadata.json lists what is in the binary; the kernels client refuses devices that it does not list"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each arch that is not promised, listed and present alike, and for each bad code object."""
    del policy
    for binary in facts.binaries:
        yield from _bundles(binary)
    for file in facts.device_files:
        yield from _bundles(file)
    if facts.unreadable:
        return  # what is in a file that was not read is unknown, and that is an error already
    bundles = [bundle for binary in facts.binaries for bundle in served_together(binary)]
    where = facts.binaries[0].path if facts.binaries else "."
    if expected.archs is not None:
        yield from _against_promise(set(expected.archs), bundles, where)
    if facts.metadata is not None:
        yield from _against_metadata(set(facts.metadata.archs), set(common_archs(bundles)))
    if expected.archs is None and facts.metadata is None and facts.binaries and not bundles:
        yield _finding(Severity.WARNING, "there is no code for any GPU in it", where, "Compile it with --offload-arch.")


def served_together(binary: Binary) -> list[Bundle]:
    """Return what must have code for a GPU, each, for the binary to serve it: its bundles that could be read.

    Code objects that lie in its data by themselves count as one bundle: a program picks the one that fits.
    """
    bundles = [bundle for bundle in binary.bundles if bundle.problem is None]
    alone = tuple(
        replace(code, arch=code.elf_arch, features=code.elf_features)
        for code in binary.code_objects
        if code.problem is None
    )
    return [*bundles, Bundle(offset=alone[0].offset or 0, code_objects=alone)] if alone else bundles


def common_archs(bundles: list[Bundle]) -> tuple[str, ...]:
    """Return the archs, sorted, that every bundle with GPU code has code for: the ones that metadata may list.

    A translation unit without code for a device makes its kernels fail there, whatever the others hold.
    """
    served = [_served(bundle) for bundle in bundles]
    return tuple(sorted(set.intersection(*served))) if served else ()


def _served(bundle: Bundle) -> set[str]:
    """Return the archs that a bundle has code for whatever a device's settings of xnack and sramecc are."""
    by_arch: dict[str, set[tuple[str, ...]]] = {}
    for code in bundle.code_objects:
        if code.arch is not None:
            by_arch.setdefault(code.arch, set()).add(code.features)
    return {arch for arch, features in by_arch.items() if () in features or {("xnack+",), ("xnack-",)} <= features}


def _against_promise(promised: set[str], bundles: list[Bundle], where: str) -> Iterator[Finding]:
    if promised and not bundles:
        what = f"{_list(promised)} was promised, but there is no offload bundle in it"
        yield _finding(Severity.ERROR, what, where, "Compile the kernel's sources with --offload-arch for each arch.")
        return
    common, anywhere = set(common_archs(bundles)), {arch for bundle in bundles for arch in _served(bundle)}
    for arch in sorted(promised - common):
        without = sum(arch not in _served(bundle) for bundle in bundles)
        entries = sorted({code.entry for bundle in bundles for code in bundle.code_objects})
        what = f"{arch} was promised, but {without} of {len(bundles)} offload bundles have no code for every {arch}"
        fix = f"Compile all sources for {arch}. Entries found: {', '.join(entries) or 'none'}."
        yield _finding(Severity.ERROR, what, where, fix)
    for arch in sorted(common - promised):
        what = f"the binary has code for {arch}, which nobody promised, so that metadata would not list it"
        yield _finding(Severity.ERROR, what, where, "Promise the arch in matrix.yaml, or do not compile for it.")
    for arch in sorted(anywhere - common - promised):
        what = f"only some offload bundles have code for {arch}; no user of it can load the kernel"
        yield _finding(Severity.WARNING, what, where, "Compile all sources for the arch, or none.")


def _against_metadata(listed: set[str], common: set[str]) -> Iterator[Finding]:
    for arch in sorted(listed - common):
        what = f"metadata.json lists {arch}, but the binary has no code for it"
        yield _finding(Severity.ERROR, what, "metadata.json: backend.archs", "Compile for it, or do not list it.")
    for arch in sorted(common - listed):
        what = f"the binary has code for {arch}, but metadata.json does not list it: the client will refuse such a GPU"
        yield _finding(Severity.ERROR, what, "metadata.json: backend.archs", "List it, or do not compile for it.")


def _bundles(binary: Binary | DeviceFile) -> Iterator[Finding]:
    for bundle in binary.bundles:
        where = f"{binary.path}: offload bundle at {bundle.offset:#x}"
        if bundle.problem is not None:
            severity = Severity.ERROR if bundle.certain else Severity.WARNING
            what = f"an offload bundle cannot be read: {bundle.problem}"
            yield _finding(severity, what, where, "Build without --offload-compress, with a complete link.")
        for code in bundle.code_objects:
            yield from _code_object(code, f"{where}, entry {code.entry}")
    for code in binary.code_objects:
        if code.problem is not None:
            what = f"what begins as a code object cannot be loaded: {code.problem}"
            yield _finding(Severity.WARNING, what, f"{binary.path}: byte {code.offset}", "Build it anew.")


def _code_object(code: CodeObject, where: str) -> Iterator[Finding]:
    if code.arch is None:
        what = f"the entry {code.entry} names no AMD GPU, and what it serves is unknown"
        yield _finding(Severity.WARNING, what, where, "Compile for named gfx archs.")
    elif code.problem is not None:
        what = f"the code object for {code.arch} cannot be loaded: {code.problem}"
        yield _finding(Severity.ERROR, what, where, "Build it anew.")
    elif code.elf_arch != code.arch:
        what = f"the entry says {code.arch}, but the code object's own ELF flags say {code.elf_arch}"
        yield _finding(Severity.ERROR, what, where, "Bundle each code object under the arch it was compiled for.")
    elif (code.version or 0) > 3 and code.elf_features != code.features:  # noqa: PLR2004 - flags say it since version 4
        said, own = (", ".join(features) or "no features" for features in (code.features, code.elf_features))
        what = f"the entry says {said}, but the code object's own ELF flags say {own}"
        yield _finding(Severity.ERROR, what, where, "Bundle each code object under the target it was compiled for.")


def _finding(severity: Severity, what: str, where: str, fix: str) -> Finding:
    return Finding(rule=RULE, severity=severity, what=what, where=where, fix=fix, source=_SOURCE)


def _list(archs: set[str]) -> str:
    return ", ".join(sorted(archs))
