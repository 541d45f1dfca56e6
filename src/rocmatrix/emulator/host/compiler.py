"""The stand-ins for torch and HIP: compiled from our own C, kept in a cache by the digest of what they are made of.

The compiler is the clang of the ziglang wheel, called as it is: nothing of zig's own C or C++ library is built for
this, and the libraries get what they need of libc from the process that loads them.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from rocmatrix import atomic, digest
from rocmatrix.engine.interface import Command, Engine
from rocmatrix.errors import MissingRequirementError

SOURCES = Path(__file__).parent / "runtime"
TORCH_CPU = "libtorch_cpu.so"
_TORCH_SOURCES = ("tensor.c", "library.c", "constants.c", "aten.c", "guard.cpp")
_HIP_SOURCES = ("hip.c", "hip_launch.c", "hip_device.c")
_CXX_RUNTIME = "libstdc++.so.6"
_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-incompatible-library-redeclaration")
_SECONDS = 120.0
_INSTALL = "Install it with: pip install 'rocmatrix[embedded]'"


@dataclass(frozen=True, kw_only=True)
class _Library:
    """A library to make: its SONAME, its sources by name, libraries that it is linked with."""

    soname: str
    sources: Mapping[str, bytes]
    linked: tuple[Path, ...] = ()


class RuntimeCompiler:
    """Makes the stand-ins below a cache folder."""

    def __init__(self, *, engine: Engine, cache: Path) -> None:
        """Find the compiler.

        Raises:
            MissingRequirementError: there is none.
        """
        spec = importlib.util.find_spec("ziglang")
        if spec is None or spec.origin is None:
            raise MissingRequirementError("the stand-ins for torch and HIP need a C compiler: ziglang", fix=_INSTALL)
        self._zig = Path(spec.origin).parent / "zig"
        self._include = self._zig.parent / "lib" / "include"
        self._version = metadata.version("ziglang")
        self._engine = engine
        self._cache = cache / "host-runtime"

    def torch(self) -> Path:
        """Return the stand-in for libtorch_cpu.so."""
        runtime = self._make(_Library(soname=_CXX_RUNTIME, sources=_read("cxx_runtime.c")))
        sources = _read(*_TORCH_SOURCES)
        return self._make(_Library(soname=TORCH_CPU, sources=sources, linked=(runtime,)))

    def hip(self, soname: str) -> Path:
        """Return the stand-in for libamdhip64.so under the name that a variant asks for."""
        return self._make(_Library(soname=soname, sources=_read(*_HIP_SOURCES)))

    def refusals(self, soname: str, symbols: Sequence[str]) -> Path:
        """Return a library whose functions say that they are not there: what an extension links but must not call."""
        lines = [
            '#include "host.h"',
            *(f'int32_t {name}(void) {{ return rocmatrix_refuse("{name}"); }}' for name in symbols),
        ]
        source = "\n".join((*lines, "")).encode()
        return self._make(_Library(soname=soname, sources={"refusals.c": source}, linked=(self.torch(),)))

    def _make(self, library: _Library) -> Path:
        headers = _read("host.h", "hip.h", "libc.h")
        parts = [(name, content) for name, content in (*library.sources.items(), *headers.items())]
        parts += [("linked", "\n".join(path.parent.name for path in library.linked).encode())]
        parts += [("compiler", f"ziglang {self._version}".encode()), ("soname", library.soname.encode())]
        parts += [("recipe", Path(__file__).read_bytes())]
        place = self._cache / digest.of_parts(parts).removeprefix("sha256:")[:24]
        made = place / library.soname
        self._cache.mkdir(parents=True, exist_ok=True)
        with FileLock(self._cache / ".lock"):
            if not made.is_file():
                self._build(library, place)
        return made

    def _build(self, library: _Library, place: Path) -> None:
        staged = Path(tempfile.mkdtemp(prefix=f"{place.name}{atomic.PARTIAL}", dir=self._cache))
        try:
            objects = []
            for name, content in library.sources.items():
                source = staged / name
                source.write_bytes(content)
                objects.append(f"{name}.o")
                self._run(staged, self._compile(source, objects[-1]))
            self._run(staged, self._link(library, objects))
            atomic.replace_folder(place, staged)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def _compile(self, source: Path, output: str) -> tuple[str, ...]:
        language = ("-std=c++17", "-fno-rtti") if source.suffix == ".cpp" else ("-std=c17",)
        own = (
            "clang",
            "--no-default-config",
            "-target",
            "x86_64-linux-gnu",
            "-nostdinc",
            "-isystem",
            str(self._include),
        )
        flags = (*language, *_WARNINGS, "-O1", "-fPIC", "-fexceptions", "-I", str(SOURCES))
        return (str(self._zig), *own, *flags, "-c", source.name, "-o", output)

    def _link(self, library: _Library, objects: list[str]) -> tuple[str, ...]:
        linked = map(str, library.linked)
        flags = ("-shared", "--eh-frame-hdr", "-z", "noexecstack", "--soname", library.soname)
        return (str(self._zig), "ld.lld", *flags, *objects, *linked, "-o", library.soname)

    def _run(self, folder: Path, argv: tuple[str, ...]) -> None:
        done = self._engine.run(Command(argv=argv, cwd=folder, timeout=_SECONDS, writable=(folder,)))
        if done.returncode != 0:
            raise MissingRequirementError(
                f"a stand-in for torch or HIP does not compile: {done.output.strip()[:2000]}",
                where=" ".join(argv[1:]),
                fix="Install the release of ziglang that rocmatrix names; with that one this is a bug.",
            )


def _read(*names: str) -> dict[str, bytes]:
    return {name: (SOURCES / name).read_bytes() for name in names}
