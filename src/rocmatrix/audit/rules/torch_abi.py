"""Rules ``torch-abi`` and ``torch-symbols``: what a binary asks of torch is there in every torch that it is meant for.

A stable-ABI binary may ask for the C functions that the torch of its level declares, and for nothing of torch's C++
namespaces: those change with every torch. A binary for one torch may ask for anything that this torch exports, which
only that torch's own libraries can say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocmatrix.audit.facts import Binary, Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.binary.facts import DynamicSymbol
from rocmatrix.plan.model import Abi
from rocmatrix.records import Finding, Severity

RULE = "torch-abi"
SYMBOLS_RULE = "torch-symbols"

_SHIM = re.compile(r"(?:aoti_)?torch_[a-z0-9_]+", re.IGNORECASE)
_NAMESPACES = r"(?:3c10|2at|5torch|6caffe2)"
_CXX = re.compile(rf"_Z(?:T[VTIS]|T[hv]n?[0-9]+_(?:n?[0-9]+_)?|G[VR])?N[KVrRO]*{_NAMESPACES}")
_PYTHON_BINDING = re.compile(r"_Z\d+THP|THP[A-Z]")
_STABLE = re.compile(r"_Z(?:T[VTIS])?N[KVrRO]*5torch6stable")
_SHOWN = 5
"""Symbols that a finding names at most."""


def asks_of_torch(symbol: DynamicSymbol) -> bool:
    """Return whether an undefined symbol is one that only torch has."""
    if symbol.defined:
        return False
    name = symbol.name
    return bool(_SHIM.fullmatch(name) or _CXX.match(name) or _PYTHON_BINDING.match(name))


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each thing that a stable-ABI binary asks of torch and that a torch of its level lacks."""
    if expected.abi is not Abi.STABLE or expected.torch is None:
        return
    for binary in facts.binaries:
        yield from _shim(binary, expected.torch, policy)
        inner = [symbol.name for symbol in binary.elf.symbols if asks_of_torch(symbol) and not _allowed(symbol.name)]
        if inner:
            yield Finding(
                rule=RULE,
                severity=Severity.ERROR,
                what=f"it asks for {_listed(inner)} of torch's C++ namespaces, which no two torch versions share",
                where=f"{binary.path}: {inner[0]}",
                fix="Use torch/csrc/stable and torch/headeronly alone, or build it for each torch (abi: per-torch).",
                source="kernel-builder check-abi: of torch's C++ namespaces only torch::stable is in the stable ABI",
            )


def check_symbols(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for what the torch of a per-torch binary lacks, or say that no torch was there to be asked."""
    del policy
    asking = [binary for binary in facts.binaries if any(map(asks_of_torch, binary.elf.symbols))]
    inner = any(asks_of_torch(symbol) and not _allowed(symbol.name) for one in asking for symbol in one.elf.symbols)
    bound = expected.abi is Abi.PER_TORCH or (expected.abi is None and inner)
    if not asking or (facts.torch is None and not bound):
        return
    source = "the loader: an undefined symbol that no library of the process has stops the import"
    if facts.torch is None or facts.torch.unread is not None:
        count = sum(asks_of_torch(symbol) for binary in asking for symbol in binary.elf.symbols)
        why = facts.torch.unread if facts.torch and facts.torch.unread else "no torch was named to be asked"
        torch = f"torch {expected.torch} for ROCm {expected.rocm}" if expected.torch else "the torch it was built for"
        yield Finding(
            rule=SYMBOLS_RULE,
            severity=Severity.NOTE,
            what=f"unverifiable: whether {torch} has the {count} symbols that it asks of torch: {why}",
            where=asking[0].path,
            fix="Name a wheel of it, the folder it is installed in, or its version with --torch.",
            source=source,
        )
        return
    by_binary: dict[str, list[str]] = {}
    for path, symbol in facts.torch.lacking:
        by_binary.setdefault(path, []).append(symbol)
    for path, symbols in by_binary.items():
        yield Finding(
            rule=SYMBOLS_RULE,
            severity=Severity.ERROR,
            what=f"torch {facts.torch.version} does not have {_listed(symbols)}",
            where=f"{path}: {symbols[0]}",
            fix="Compile it against the headers of the torch that the variant names, for the same C++ ABI.",
            source=f"{source}; exports of {', '.join(facts.torch.libraries)}",
        )


def _allowed(name: str) -> bool:
    return bool(_SHIM.fullmatch(name) or _STABLE.match(name))


def _shim(binary: Binary, level: str, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each C function that is newer than the level, or that no torch declares."""
    for symbol in binary.elf.symbols:
        if symbol.defined or not _SHIM.fullmatch(symbol.name):
            continue
        since = policy.shim.since.get(symbol.name)
        if since is not None and (since == policy.shim.oldest or _ordered(since) <= _ordered(level)):
            continue
        if since is None and _ordered(level) > _ordered(policy.shim.newest):
            what = f"unverifiable: torch {level} is newer than the lists here, which end with {policy.shim.newest}"
            severity = Severity.NOTE
        elif since is None:
            what = f"no torch up to {policy.shim.newest} declares {symbol.name}"
            severity = Severity.WARNING if symbol.weak else Severity.ERROR
        else:
            what = f"{symbol.name} came with torch {since}, but the variant promises to run on torch {level}"
            severity = Severity.WARNING if symbol.weak else Severity.ERROR
        yield Finding(
            rule=RULE,
            severity=severity,
            what=what + (" (it is weak: the loader goes on without it)" if symbol.weak else ""),
            where=f"{binary.path}: {symbol.name}",
            fix=f"Compile with TORCH_TARGET_VERSION at {level}, or raise torch.stable-abi in build.toml.",
            source=policy.shim.source,
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
