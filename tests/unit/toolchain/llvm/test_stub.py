"""Stub libraries: what they define, and that the data holds what the recipe needs."""

import re
import tomllib
from pathlib import Path

import pytest

from rocmatrix.toolchain.llvm.facts import DATA, HIP_INCLUDE, hip_soname, zig_facts
from rocmatrix.toolchain.llvm.tasks.stub import StubSymbols, assembly, read_symbols, version_script

CEILINGS = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
"""manylinux_2_28, as auditwheel's policy data have it."""


def stub(data: str, library: str) -> StubSymbols:
    return read_symbols((DATA / data).read_bytes(), library)


def test_every_symbol_is_defined_with_its_kind() -> None:
    text = assembly(StubSymbols(functions={"V_1": ("f",)}, objects={"V_2": ("o",)}))
    assert "\t.globl f\n\t.type f,@function\nf:\n\txorl %eax, %eax\n\tret" in text
    assert "\t.globl o\n\t.type o,@object" in text


def test_versions_are_written_for_the_linker() -> None:
    script = version_script(StubSymbols(functions={"V_1": ("f",)}, objects={"V_1": ("o",), "V_2": ("p",)}))
    assert script == "V_1 {\nglobal:\n  f;\n  o;\n};\nV_2 {\nglobal:\n  p;\n};\n"


def test_a_library_that_the_data_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"libother\.so"):
        stub("hip.toml", "libother.so")


def test_the_hip_stub_has_every_call_that_is_declared_and_those_that_clang_makes() -> None:
    header = (HIP_INCLUDE / "hip" / "hip_runtime_api.h").read_text(encoding="utf-8")
    declared = {*re.findall(r"\b((?:__)?hip[A-Za-z]+)\(", header)}
    by_clang = {
        f"__hip{name}" for name in ("RegisterFatBinary", "RegisterFunction", "RegisterVar", "UnregisterFatBinary")
    }
    assert len(declared) > 10
    assert declared | by_clang <= {*stub("hip.toml", "libamdhip64.so").functions[""]}


def test_the_hip_stub_has_no_symbol_versions() -> None:
    assert {*stub("hip.toml", "libamdhip64.so").functions} == {""}


@pytest.mark.parametrize("library", ["libstdc++.so.6", "libgcc_s.so.1"])
def test_no_symbol_of_the_cxx_abi_is_newer_than_manylinux_2_28(library: str) -> None:
    symbols = stub("cxx_abi.toml", library)
    versions = {*symbols.functions, *symbols.objects}
    assert versions
    for version in versions:
        family, _, number = version.partition("_")
        assert tuple(int(part) for part in number.split(".")) <= CEILINGS[family]


def test_what_throws_and_unwinds_is_among_the_symbols_of_the_cxx_abi() -> None:
    names = {name for names in stub("cxx_abi.toml", "libstdc++.so.6").functions.values() for name in names}
    assert {"__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "_Znwm", "_ZdlPv"} <= names
    names = {name for names in stub("cxx_abi.toml", "libgcc_s.so.1").functions.values() for name in names}
    assert {"_Unwind_RaiseException", "_Unwind_Resume"} <= names


@pytest.mark.parametrize("path", sorted(DATA.glob("*.toml")), ids=lambda path: path.name)
def test_every_fact_says_where_it_is_from_and_whether_it_was_seen(path: Path) -> None:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    tables = [data] if "source" in data else [table for group in data.values() for table in group.values()]
    for table in tables:
        assert table["source"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"])
        assert isinstance(table["verified"], bool)


def test_facts_are_read_into_their_types() -> None:
    assert (hip_soname("7.2"), hip_soname("6.4"), hip_soname("5.7")) == ("libamdhip64.so.7", "libamdhip64.so.6", None)
    assert zig_facts().target == "x86_64-linux-gnu.2.28"
