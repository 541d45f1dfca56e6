"""Steps from sources to objects: code objects, their bundle, the host half around it, and bindings."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from rocmatrix import digest
from rocmatrix.digest import canonical_json
from rocmatrix.toolchain.includes import included_files
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.compiler import Compiler
from rocmatrix.toolchain.llvm.facts import BUNDLER, HIP_INCLUDE
from rocmatrix.toolchain.llvm.flags import Roots, Translation
from rocmatrix.toolchain.llvm.kit import once
from rocmatrix.toolchain.project_sources import Source


@dataclass(frozen=True, kw_only=True)
class ObjectSteps:
    """Makes the steps of one unit's objects."""

    compiler: Compiler
    request: BuildRequest

    @property
    def roots(self) -> Roots:
        """Folders that the commands of this unit speak of."""
        return Roots(
            zig=self.compiler.lib,
            hip=HIP_INCLUDE,
            project=self.request.project,
            generated=self.request.generated,
            torch=self.request.torch_include,
        )

    def object_file(self, source: Source) -> Path:
        """Return the object that the linker takes for a source."""
        return self.request.work / f"{source.stem}.o"

    def steps(self, source: Source) -> tuple[Step, ...]:
        """Return the steps from a source to its object."""
        if not source.is_hip:
            return (self._binding(source),)
        code_objects = [self._code_object(source, arch) for arch in self.request.unit.archs]
        bundle = self._bundle(source, code_objects)
        return (*code_objects, bundle, self._host(source, bundle.outputs[0]))

    def _translation(self, source: Source) -> Translation:
        return Translation(
            extension=self.request.extension,
            standard=self.request.cxx_standard,
            torch_target=self.request.unit.torch,
            include=source.include,
            extra=source.extra,
        )

    def _cuid(self, source: Source) -> str:
        """Return what makes names of a translation unit unique: the same in every build, another for every source."""
        return hashlib.sha256(f"{self.request.manifest.name}\n{source.path}".encode()).hexdigest()[:16]

    def _device_commands(
        self, source: Source, arch: str, roots: Roots, program: str, name: str
    ) -> tuple[tuple[str, ...], ...]:
        made = ("{scratch}/device.bc", "{scratch}/device.o", f"{{made}}/{name}")
        bitcode = flags.hip_device_flags(roots, self._translation(source), cuid=self._cuid(source), arch=arch)
        machine_code = flags.code_object_flags(arch, source.extra)
        return (
            (program, "clang", *bitcode, "-c", str(roots.project / source.path), "-o", made[0]),
            (program, "clang", *machine_code, "-c", made[0], "-o", made[1]),
            (program, "ld.lld", "-shared", made[1], "-o", made[2]),
        )

    def _code_object(self, source: Source, arch: str) -> Step:
        """Return the step that makes a code object in the shared cache.

        It has no inputs in the graph: its name stands for everything that decides its bytes, so that it is up to date
        whenever it is there.
        """
        output = self.request.device_cache / f"{self._device_key(source, arch)}.co"
        commands = self._device_commands(source, arch, self.roots, str(self.compiler.program), output.name)
        argv = once((output,), self.request.device_cache, *commands)
        label = f"device {source.path} for {arch}"
        return Step(label=label, argv=argv, inputs=(), outputs=(output,))

    def _device_key(self, source: Source, arch: str) -> str:
        roots = self.roots
        commands = self._device_commands(source, arch, roots.labelled(), "zig", "")
        places = [roots.project, roots.generated, roots.hip, *((roots.torch,) if roots.torch else ())]
        folders = [*(roots.project / folder for folder in source.include), *places[1:]]
        parts = [
            ("commands", canonical_json(commands)),
            ("compiler", f"ziglang {self.compiler.ziglang} clang {self.compiler.clang}".encode()),
        ]
        read = included_files((roots.project / source.path).resolve(), folders)
        parts += [(_label(path, places), path.read_bytes()) for path in read]
        return digest.of_parts(parts).removeprefix("sha256:")

    def _bundle(self, source: Source, code_objects: list[Step]) -> Step:
        output = self.request.work / f"{source.stem}.hipfb"
        inputs = tuple(step.outputs[0] for step in code_objects)
        named = zip(self.request.unit.archs, inputs, strict=True)
        argv = (sys.executable, "-I", "-S", str(BUNDLER), str(output), *(f"{arch}={path}" for arch, path in named))
        return Step(label=f"bundle {source.path}", argv=argv, inputs=inputs, outputs=(output,))

    def _host(self, source: Source, bundle: Path) -> Step:
        own = flags.hip_host_flags(self.roots, self._translation(source), cuid=self._cuid(source))
        embedded = ("-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle))
        archs = tuple(f"--offload-arch={arch}" for arch in self.request.unit.archs)
        return self._compile(source, f"host {source.path}", (*own, *archs, *embedded), (bundle,))

    def _binding(self, source: Source) -> Step:
        return self._compile(source, f"c++ {source.path}", flags.cxx_flags(self.roots, self._translation(source)), ())

    def _compile(self, source: Source, label: str, own: tuple[str, ...], inputs: tuple[Path, ...]) -> Step:
        output = self.object_file(source)
        depfile = output.with_suffix(".d")
        path = self.request.project / source.path
        depends = ("-MD", "-MF", str(depfile), "-MT", str(output))
        argv = (str(self.compiler.program), "clang", *own, *depends, "-c", str(path), "-o", str(output))
        return Step(label=label, argv=argv, inputs=(path, *inputs), outputs=(output,), depfile=depfile)


def _label(path: Path, places: list[Path]) -> str:
    """Return the path as it is wherever the folders are: number of the folder it is below, and the rest."""
    for number, place in enumerate(places):
        if path.is_relative_to(place.resolve()):
            return f"{number}/{path.relative_to(place.resolve()).as_posix()}"
    return f"outside/{path}"
