"""Rule ``version-ceilings``: no symbol version that a manylinux_2_28 system lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocmatrix.audit.facts import Binary, Expectation, VariantFacts
from rocmatrix.audit.policy import Ceiling, Policy
from rocmatrix.binary.facts import ElfFacts
from rocmatrix.records import Finding, Severity

RULE = "version-ceilings"
_NUMBERED = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*?)_(\d+(?:\.\d+)*)", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)*", re.ASCII)
_DIGITS = 9
"""Digits of one part of a version at most; anything longer counts as higher than all."""
_SHOWN = 3
"""Symbols that a finding names at most."""


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each version need above its family's ceiling."""
    del expected
    for binary in facts.binaries:
        for version in sorted({need.version for need in binary.elf.version_needs}):
            if ceiling := _ceiling_of(version, policy.ceilings):
                yield from _judge(binary, version, ceiling, policy)


def highest_versions(elf: ElfFacts) -> dict[str, str]:
    """Return family -> highest version that the loader will ask for, for versions that are numbers."""
    highest: dict[str, str] = {}
    for need in elf.version_needs:
        if found := _NUMBERED.fullmatch(need.version):
            family, number = found.groups()
            if family not in highest or _ordered(number) > _ordered(highest[family]):
                highest[family] = number
    return dict(sorted(highest.items()))


def _ceiling_of(version: str, ceilings: Mapping[str, Ceiling]) -> Ceiling | None:
    return next((ceiling for family, ceiling in ceilings.items() if version.startswith(f"{family}_")), None)


def _judge(binary: Binary, version: str, ceiling: Ceiling, policy: Policy) -> Iterator[Finding]:
    asked = version.removeprefix(f"{ceiling.family}_")
    if asked in ceiling.also or (_NUMBER.fullmatch(asked) and _ordered(asked) <= _ordered(ceiling.highest)):
        return
    users = sorted(symbol.name for symbol in binary.elf.symbols if symbol.version == version and not symbol.defined)
    named = ", ".join(users[:_SHOWN]) + (f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else "")
    limit = f"{ceiling.family}_{ceiling.highest}"
    yield Finding(
        rule=RULE,
        severity=Severity.ERROR,
        what=f"{version} is asked for, but {policy.manylinux} systems have {limit} at most",
        where=f"{binary.path}: {named or 'no symbol of its own'}",
        fix="Link against an older C and C++ library (the toolchain's target version), or avoid the symbols.",
        source=policy.ceilings_source,
    )


def _ordered(number: str) -> tuple[int, ...]:
    """Return a dotted number for comparing."""
    return tuple(int(part) if len(part) <= _DIGITS else 10**_DIGITS for part in number.split("."))
