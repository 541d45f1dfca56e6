"""The toolchain's data files against the things they describe: the installed compiler, and an installed torch."""

import ctypes
import importlib.util
import re
import tomllib
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.toolchain.llvm import compiler
from rocmatrix.toolchain.llvm.facts import DATA, zig_facts
from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain
from tests.system.llvm_project import ask_zig, make_toolchain

DRIVER_ONLY = {"libunwind/include"}
"""Folders of zig's own driver that are left out: libgcc_s unwinds."""


@pytest.fixture(scope="module")
def toolchain() -> LlvmToolchain:
    return make_toolchain()


@pytest.fixture(scope="module")
def driver(toolchain: LlvmToolchain, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words of the compilation that zig's own C++ driver would run."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "a.cpp").touch()
    said = ask_zig(toolchain, "c++", "-target", zig_facts().target, "-O2", "-c", "a.cpp", "-###", cwd=folder)
    (line,) = [line for line in said.splitlines() if '"-cc1"' in line]
    return re.findall(r'"([^"]*)"', line)


@pytest.mark.needs_llvm
def test_headers_are_looked_for_where_zigs_own_driver_looks(toolchain: LlvmToolchain, driver: list[str]) -> None:
    lib = toolchain._compiler.lib
    seen = [Path(value).relative_to(lib).as_posix() for word, value in pairwise(driver) if word == "-isystem"]
    assert [folder for folder in seen if folder not in DRIVER_ONLY] == list(zig_facts().include)


@pytest.mark.needs_llvm
def test_macros_are_those_of_zigs_own_driver(driver: list[str]) -> None:
    assert [value for word, value in pairwise(driver) if word == "-D"] == list(zig_facts().define)


@pytest.mark.needs_llvm
def test_versions_are_those_of_the_installed_compiler(toolchain: LlvmToolchain) -> None:
    assert toolchain._compiler.clang == zig_facts().clang
    assert {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"} <= toolchain._compiler.archs


@pytest.mark.needs_llvm
def test_another_release_of_the_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "0.99.0")
    with pytest.raises(MissingRequirementError, match=r"made for ziglang 0\.17\.1, but 0\.99\.0 is installed"):
        compiler.find_compiler(HostEngine())


@pytest.mark.needs_llvm
def test_a_compiler_that_does_not_run_is_told_with_its_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "zig"
    program.write_text("#!/bin/sh\necho cannot execute: bad hardware\nexit 132\n")
    program.chmod(0o755)
    spec = importlib.util.spec_from_file_location("ziglang", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    with pytest.raises(MissingRequirementError, match="ended with 132: cannot execute: bad hardware"):
        compiler.find_compiler(HostEngine())


def test_a_compiler_that_is_not_installed_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingRequirementError, match=r"pip install 'rocmatrix\[embedded\]'"):
        compiler.find_compiler(HostEngine())


@pytest.mark.needs_torch
def test_an_installed_torch_exports_every_symbol_of_its_stub() -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    library = Path(spec.origin).parent / "lib" / "libtorch_cpu.so"
    with library.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        exported = {one.name for one in table.iter_symbols() if one["st_shndx"] != "SHN_UNDEF"}
    symbols = tomllib.loads((DATA / "torch.toml").read_text(encoding="utf-8"))["libraries"]["libtorch_cpu.so"][
        "symbols"
    ]
    assert len(symbols) > 300
    assert {*symbols} <= exported


def test_this_machines_cxx_runtime_exports_every_symbol_of_its_stub() -> None:
    libraries = tomllib.loads((DATA / "cxx_abi.toml").read_text(encoding="utf-8"))["libraries"]
    for name, kinds in libraries.items():
        library = ctypes.CDLL(name)
        for kind in kinds.values():
            for symbols in kind.values():
                assert [symbol for symbol in symbols if not hasattr(library, symbol)] == []
