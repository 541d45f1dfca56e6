"""Steps from sources to the shared object.

A HIP source is compiled once for all its archs, not arch by arch with a bundle of ours: every hip-flag then means what
it means to kernel-builder (compressed bundles, flags for one arch or for one side), and the bytes are those of one
command that anybody can repeat. What units share is the whole object: if neither the source nor what it includes of the
project needs torch, the same object serves every torch of a kernel.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from rocmatrix import digest, document
from rocmatrix.digest import canonical_json
from rocmatrix.engine.paths import Place
from rocmatrix.records import ToolchainIdentity
from rocmatrix.toolchain.hipcc import flags
from rocmatrix.toolchain.hipcc.compiler import Compiler
from rocmatrix.toolchain.hipcc.flags import Roots
from rocmatrix.toolchain.hipcc.setup import Setup
from rocmatrix.toolchain.includes import included_files
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.llvm.facts import EXPORTS, TASKS
from rocmatrix.toolchain.project_sources import Source

ONCE = TASKS / "once.py"
PLACES = {
    ONCE: Place(host=ONCE, name="rocmatrix/once.py"),
    EXPORTS: Place(host=EXPORTS, name="rocmatrix/exports.map"),
}
"""Files of ours that steps use, and where an engine with a file system of its own has them."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Makes the steps of one unit."""

    setup: Setup
    compiler: Compiler
    identity: ToolchainIdentity
    request: BuildRequest

    @property
    def roots(self) -> Roots:
        """Folders that the commands of this unit speak of."""
        return Roots.of(self.request, self.compiler.root)

    def all(self, sources: tuple[Source, ...]) -> tuple[Step, ...]:
        """Return the steps from sources to the shared object."""
        objects = tuple(self._hip(source) if source.is_hip else self._cxx(source) for source in sources)
        stubs = tuple(self._stub(name) for name in flags.TORCH_LIBRARIES[self.request.unit.abi])
        return (*objects, *stubs, self._link(objects, stubs))

    def _cxx(self, source: Source) -> Step:
        output = self._object(source)
        argv = (self.compiler.clang, *flags.cxx_flags(self.request, self.roots, source), *self._files(source, output))
        return self._step(f"c++ {source.path}", argv, (self.request.project / source.path,), output)

    def _hip(self, source: Source) -> Step:
        label = f"hip {source.path} for {', '.join(self.request.unit.archs)}"
        path = self.request.project / source.path
        read = self._read(source)
        if self._needs_torch(read):
            output = self._object(source)
            argv = (*self._hip_command(source, self.roots), *self._files(source, output))
            return self._step(label, argv, (path,), output)
        folder = self.request.device_cache
        output = folder / f"{self._key(source, read)}.o"
        command = (*self._hip_command(source, self.roots), str(path), "-o", f"{{made}}/{output.name}")
        argv = (self.setup.python, "-I", "-S", str(ONCE), str(folder), output.name, "--", *command)
        # no inputs: its name stands for all that decides its bytes
        return self._step(label, argv, (), output, places=(PLACES[ONCE],))

    def _hip_command(self, source: Source, roots: Roots) -> tuple[str, ...]:
        cuid = hashlib.sha256(f"{self.request.manifest.name}\n{source.path}".encode()).hexdigest()[:16]
        return (self.setup.hipcc, *flags.hip_flags(self.request, roots, source, cuid=cuid))

    def _read(self, source: Source) -> frozenset[Path]:
        """Return the files that a source may read, but for those of the image."""
        request = self.request
        folders = [request.project / folder for folder in source.include] + [request.generated]
        torch = [request.torch_include] if request.torch_include else []
        return included_files((request.project / source.path).resolve(), [*folders, *torch])

    def _needs_torch(self, read: frozenset[Path]) -> bool:
        torch = self.request.torch_include
        return torch is not None and any(path.is_relative_to(torch.resolve()) for path in read)

    def _key(self, source: Source, read: frozenset[Path]) -> str:
        """Return the digest of what decides the bytes of an object that does not need torch."""
        places = (self.request.project.resolve(), self.request.generated.resolve())
        parts = [
            ("command", canonical_json([*self._hip_command(source, self.roots.labelled()), source.path])),
            ("toolchain", document.to_json(self.identity)),
            *((_label(path, places), path.read_bytes()) for path in read),
        ]
        return digest.of_parts(parts).removeprefix("sha256:")

    def _stub(self, name: str) -> Step:
        output = self.request.work / "stubs" / name
        return self._step(
            f"stub of {name}", (self.compiler.clang, *flags.stub_flags(name), "-o", str(output)), (), output
        )

    def _link(self, objects: tuple[Step, ...], stubs: tuple[Step, ...]) -> Step:
        made, empty = (tuple(step.outputs[0] for step in steps) for steps in (objects, stubs))
        own = flags.link_flags(made, empty, EXPORTS, self.compiler.root)
        output = self.request.output
        argv = (self.compiler.clang, *own, "-o", str(output))
        return self._step(f"link {output.name}", argv, (*made, *empty, EXPORTS), output, places=(PLACES[EXPORTS],))

    def _object(self, source: Source) -> Path:
        return self.request.work / f"{source.stem}.o"

    def _files(self, source: Source, output: Path) -> tuple[str, ...]:
        return (str(self.request.project / source.path), "-o", str(output))

    def _step(
        self,
        label: str,
        argv: tuple[str, ...],
        inputs: tuple[Path, ...],
        output: Path,
        *,
        places: tuple[Place, ...] = (),
    ) -> Step:
        return Step(
            label=label,
            argv=argv,
            inputs=inputs,
            outputs=(output,),
            environment=dict(self.setup.environment),
            places=places,
        )


def _label(path: Path, places: tuple[Path, ...]) -> str:
    """Return the path as it is wherever the folders are: number of the folder it is below, and the rest."""
    for number, place in enumerate(places):
        if path.is_relative_to(place):
            return f"{number}/{path.relative_to(place).as_posix()}"
    return f"outside/{path}"
