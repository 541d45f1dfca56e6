"""What hipcc, hipconfig and clang say is read from their output; the texts are those of Debian's and AMD's packages."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.toolchain.hipcc.compiler import Compiler, ask_compiler
from rocmatrix.toolchain.hipcc.setup import Setup

CPUS = """\
Available CPUs for this target:

	gfx90a
	gfx942
	gfx9-4-generic

Use -mcpu or -mtune to specify the target's processor.
"""


@dataclass(kw_only=True)
class Rocm:
    """A folder with programs that print what a ROCm's do."""

    folder: Path
    hip: str = "HIP version: 6.4.43484-9999"
    clang: str = "Debian clang version 21.1.8 (13)"
    root: str = "/usr"
    names: tuple[str, ...] = ("clang++-21",)
    more: dict[str, str] = field(default_factory=dict)

    def ask(self, *, clang: str | None = None) -> Compiler:
        """Write the programs and ask them."""
        printed = {"hipcc": f"{self.hip}\n{self.clang}\nTarget: x86_64-pc-linux-gnu"}
        for name in self.names:
            printed[name] = self.more.get(name, f"{self.clang}\n{CPUS}")
        for name, text in printed.items():
            self.program(name, f"cat <<'END'\n{text}\nEND")
        self.program("hipconfig", f'[ "$1" = --rocmpath ] && printf %s "{self.root}" || printf %s "{self.folder}"')
        setup = Setup(recipe="hipcc", hipcc=f"{self.folder}/hipcc", clang=clang, python="python3")
        return ask_compiler(HostEngine(), setup)

    def program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def rocm(tmp_path: Path) -> Rocm:
    return Rocm(folder=tmp_path)


def test_debians_build_is_not_called_amds(rocm: Rocm) -> None:
    compiler = rocm.ask()
    assert (compiler.hip, compiler.rocm, compiler.version) == ("6.4.43484-9999", "6.4", "21.1.8")
    assert compiler.clang == f"{rocm.folder}/clang++-21"
    said = "Debian's build of clang 21.1.8 with HIP 6.4.43484-9999, not AMD's compiler"
    assert compiler.description == said
    assert compiler.archs == {"gfx90a", "gfx942", "gfx9-4-generic"}
    assert compiler.root is None  # the system's own folders must not be named: it breaks the order of C++ headers


def test_amds_compiler_is_called_so_and_its_folder_is_used(tmp_path: Path) -> None:
    clang = "AMD clang version 20.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.1.1 25444 27682a1)"
    hip = "HIP version: 7.1.52802-26aae437f6"
    compiler = Rocm(folder=tmp_path, hip=hip, clang=clang, root="/opt/rocm", names=("clang++",)).ask()
    assert compiler.description == "AMD's clang 20.0.0git with HIP 7.1.52802-26aae437f6"
    assert (compiler.rocm, compiler.root, compiler.clang) == ("7.1", "/opt/rocm", f"{tmp_path}/clang++")


def test_a_clang_that_does_not_say_who_built_it_is_nobodys(rocm: Rocm) -> None:
    rocm.clang, rocm.names = "clang version 22.1.8", ("clang++",)
    assert rocm.ask().description == "clang 22.1.8 with HIP 6.4.43484-9999, not AMD's compiler"


def test_of_two_clangs_the_one_that_hipcc_drives_is_taken(rocm: Rocm) -> None:
    rocm.names = ("clang++", "clang++-21")
    rocm.more = {"clang++-21": "Debian clang version 21.0.0"}
    assert rocm.ask().clang == f"{rocm.folder}/clang++"


def test_a_clang_that_is_not_the_driven_one_is_not_taken(rocm: Rocm) -> None:
    rocm.more = {"clang++-21": "Debian clang version 20.0.0"}
    with pytest.raises(MissingRequirementError, match=r"the clang 21\.1\.8 that hipcc drives is not found"):
        rocm.ask()


def test_something_else_called_hipcc_is_quoted(rocm: Rocm) -> None:
    rocm.hip = "nvcc: NVIDIA (R) Cuda compiler driver"
    with pytest.raises(MissingRequirementError, match="does not say which HIP and which clang it is: 'nvcc"):
        rocm.ask()


def test_a_compiler_that_fails_is_quoted(rocm: Rocm) -> None:
    rocm.ask()
    rocm.program("hipcc", "echo libLLVM.so: cannot open; exit 127")
    setup = Setup(recipe="x", hipcc=f"{rocm.folder}/hipcc", clang=None, python="python3")
    with pytest.raises(MissingRequirementError, match=r"`hipcc --version` ended with 127: libLLVM\.so: cannot open"):
        ask_compiler(HostEngine(), setup)
