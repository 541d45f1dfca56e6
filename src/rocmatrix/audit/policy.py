"""The policy of the audit: limits, libraries, formats and machine numbers from data files, abi3 from abi3info."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from rocmatrix import digest
from rocmatrix.audit.policy_data import (
    BytesPolicy,
    Fp8Policy,
    ShimPolicy,
    SizePolicy,
    bytes_policy,
    fp8_policy,
    shim_policy,
    size_policy,
)
from rocmatrix.digest import Digest

_LINUX_MACROS = {"HAVE_FORK", "PY_HAVE_THREAD_NATIVE_ID"}
"""Conditions of abi3info under which Linux builds of CPython have a symbol; the others are for Windows or debugging."""
_FILES = ("limits.toml", "libraries.toml", "machines.toml", "bytes.toml", "fp8.toml", "torch_shim.toml")


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Highest version of a symbol-version family: dotted number, and versions of it that are not numbers."""

    family: str
    highest: str
    also: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What rules measure against.

    Attributes:
        manylinux: name of the policy that the ceilings come from, e.g. ``manylinux_2_28``.
        ceilings: by family.
        ceilings_source: where the ceilings come from.
        libraries: SONAMEs that may be needed.
        rocm_stems: names without version of ROCm libraries that may be needed, their number unverified.
        libraries_source: where the lists of libraries come from.
        python: lowest Python that must load an extension, e.g. ``3.9``.
        stable_abi: symbols of CPython's stable ABI up to that version.
        stable_abi_source: where they come from.
        machines: machine number of a code object's ELF flags -> processor.
        bytes: what must not be in a file.
        fp8: flavours of FP8.
        shim: C functions of torch's stable ABI.
        size: what files may weigh.
        identity: digest of all of it.
    """

    manylinux: str
    ceilings: dict[str, Ceiling]
    ceilings_source: str
    libraries: frozenset[str]
    rocm_stems: frozenset[str]
    libraries_source: str
    python: str
    stable_abi: frozenset[str]
    stable_abi_source: str
    machines: dict[int, str]
    bytes: BytesPolicy
    fp8: Fp8Policy
    shim: ShimPolicy
    size: SizePolicy
    identity: Digest


@cache
def load_policy() -> Policy:
    """Return the policy that this rocmatrix ships."""
    texts = {name: files("rocmatrix.audit.data").joinpath(name).read_bytes() for name in _FILES}
    limits, libraries, machines = (tomllib.loads(texts[name].decode()) for name in _FILES[:3])
    manylinux, groups = limits["manylinux"], libraries["group"]
    python = str(limits["abi3"]["python"])
    symbols = stable_abi(python)
    ceilings = (
        Ceiling(family=row["family"], highest=row["highest"], also=frozenset(row.get("also", ())))
        for row in manylinux["ceiling"]
    )
    return Policy(
        manylinux=manylinux["policy"],
        ceilings={ceiling.family: ceiling for ceiling in ceilings},
        ceilings_source=manylinux["source"],
        libraries=frozenset(name for group in groups for name in group.get("names", ())),
        rocm_stems=frozenset(stem for group in groups for stem in group.get("stems", ())),
        libraries_source="kernel-builder: only torch and the ROCm libraries that torch itself depends on",
        python=python,
        stable_abi=symbols,
        stable_abi_source=f"CPython's stable ABI up to {python}, from abi3info {version('abi3info')}",
        machines={number: name for name, number in machines["machine"].items()},
        bytes=bytes_policy(texts["bytes.toml"]),
        fp8=fp8_policy(texts["fp8.toml"]),
        shim=shim_policy(texts["torch_shim.toml"]),
        size=size_policy(texts["limits.toml"]),
        identity=digest.of_parts([*texts.items(), ("stable ABI", "\n".join(sorted(symbols)).encode())]),
    )


def stable_abi(python: str) -> frozenset[str]:
    """Return the symbols of CPython's stable ABI that every Python for Linux from a version on has, e.g. ``3.9``."""
    from abi3info import DATAS, FUNCTIONS  # noqa: PLC0415 - only an audit needs it
    from abi3info.models import PyVersion  # noqa: PLC0415 - as above

    major, minor = python.split(".")
    limit = PyVersion(int(major), int(minor))
    everything = [*FUNCTIONS.items(), *DATAS.items()]
    return frozenset(
        str(symbol.linux)
        for symbol, item in everything
        if item.added <= limit and (item.ifdef is None or item.ifdef.name in _LINUX_MACROS)
    )
