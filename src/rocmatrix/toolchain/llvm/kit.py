"""What is made once per machine and shared by every link: stub libraries, the exception shim, zig's C++ library.

Everything lies below the toolchain's cache in a folder named by the recipe's digest, so that a changed recipe never
meets the files of an older one.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rocmatrix import digest
from rocmatrix.toolchain.interface import Step
from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.compiler import Compiler
from rocmatrix.toolchain.llvm.facts import (
    CPU_TRIPLE,
    DATA,
    FOLDER,
    HIP_INCLUDE,
    TASKS,
    hip_runtimes,
    recipe_digest,
    zig_facts,
)

TORCH_LIBRARIES = ("libtorch_cpu.so", "libtorch.so")
CXX_LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1")


def task(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of one of our programs: isolated Python, no site-packages."""
    return (sys.executable, "-I", "-S", str(TASKS / f"{name}.py"), *arguments)


def once(outputs: tuple[Path, ...], folder: Path, *commands: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line that makes outputs below a shared folder; see ``tasks/once.py``."""
    names = (str(path.relative_to(folder)) for path in outputs)
    words = [word for command in commands for word in (*command, "::")]
    return task("once", str(folder), *names, "--", *words)


@dataclass(frozen=True, kw_only=True)
class Kit:
    """The shared files of one compiler below one cache folder."""

    compiler: Compiler
    cache: Path

    @property
    def folder(self) -> Path:
        """Where the files of this recipe and compiler are."""
        parts = (recipe_digest(), self.compiler.ziglang, self.compiler.clang)
        name = digest.of_bytes("\n".join(parts).encode()).removeprefix("sha256:")[:16]
        return self.cache / "llvm" / name

    @property
    def sysroot(self) -> Path:
        """C++ library and glibc stubs of zig: built once (one to three minutes on two cores), 5 MB.

        They depend on the compiler alone, not on this recipe.
        """
        return self.cache / "llvm" / f"sysroot-{self.compiler.ziglang}-{zig_facts().target}"

    def runtime(self) -> tuple[Path, ...]:
        """Return what ends every link: the machine's C++ ABI before zig's C++ library, then glibc."""
        return (*self.cxx(), *(self.sysroot / name for name in zig_facts().libraries))

    @property
    def runtime_folder(self) -> Path:
        """Stubs that may stand for the real libraries when an extension is loaded on trial."""
        return self.folder / "runtime"

    @property
    def shim(self) -> Path:
        """Object that maps libc++'s exception_ptr onto libstdc++."""
        return self.folder / "exception_ptr.o"

    def hip(self, soname: str) -> Path:
        """Stub of the HIP runtime."""
        return self.runtime_folder / soname

    def torch(self) -> tuple[Path, ...]:
        """Stubs of torch's libraries."""
        return tuple(self.runtime_folder / name for name in TORCH_LIBRARIES)

    def cxx(self) -> tuple[Path, ...]:
        """Stubs of the machine's C++ runtime; for the linker only, nothing can run on them."""
        return tuple(self.folder / "link" / name for name in CXX_LIBRARIES)

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that make everything; each does nothing where its result is there."""
        return (self._files_step(), self._sysroot_step())

    def _files_step(self) -> Step:
        stubs = [
            *((self.hip(known.soname), "hip.toml", "libamdhip64.so") for known in hip_runtimes()),
            *((path, "torch.toml", path.name) for path in self.torch()),
            *((path, "cxx_abi.toml", path.name) for path in self.cxx()),
        ]
        outputs = (*(path for path, *_ in stubs), self.shim)
        argv = once(outputs, self.folder, *(self._stub(*stub) for stub in stubs), self._shim())
        return Step(label="stub libraries and exception shim", argv=argv, inputs=(), outputs=outputs)

    def _stub(self, output: Path, data: str, library: str) -> tuple[str, ...]:
        zig = str(self.compiler.program)
        assembler = (zig, "clang", "-target", CPU_TRIPLE, "--no-default-config")
        tools = (*assembler, "--", zig, "ld.lld", "-shared")
        return task("stub", self._being_made(output), str(DATA / data), library, *tools)

    def _shim(self) -> tuple[str, ...]:
        source = FOLDER / "shim" / "exception_ptr.cpp"
        own = flags.own_flags(self.compiler.lib, source.parent, HIP_INCLUDE)
        compiler = (str(self.compiler.program), "clang", *own)
        return (*compiler, "-c", str(source), "-o", self._being_made(self.shim))

    def _being_made(self, path: Path) -> str:
        return f"{{made}}/{path.relative_to(self.folder)}"

    def _sysroot_step(self) -> Step:
        zig = str(self.compiler.program)
        build = task("sysroot", "{made}", zig, zig_facts().target, *zig_facts().libraries)
        outputs = tuple(self.sysroot / name for name in zig_facts().libraries)
        label = "zig's C++ library (once per machine, a few minutes)"
        argv = once(outputs, self.sysroot, build)
        return Step(label=label, argv=argv, inputs=(), outputs=outputs, takes_long=True)
