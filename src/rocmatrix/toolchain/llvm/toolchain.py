"""The toolchain ``llvm``: identity, objections, steps and gates."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from rocmatrix.engine.interface import Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import ToolchainSpec, Unit
from rocmatrix.records import Gate, ToolchainIdentity
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.compiler import Compiler, find_compiler
from rocmatrix.toolchain.llvm.facts import EXPORTS, hip_soname, recipe_digest
from rocmatrix.toolchain.llvm.flags import LinkInputs
from rocmatrix.toolchain.llvm.gates import load_gate, runtime_gate
from rocmatrix.toolchain.llvm.kit import Kit
from rocmatrix.toolchain.llvm.objects import ObjectSteps
from rocmatrix.toolchain.llvm.probe import message_gate
from rocmatrix.toolchain.llvm.sources import objection, refuse_full_rocm
from rocmatrix.toolchain.project_sources import project_sources


class LlvmToolchain:
    """Cross-compiles stable-ABI units for one ROCm with clang from the ziglang wheel; safe to use from threads."""

    def __init__(self, spec: ToolchainSpec, *, engine: Engine, cache: Path) -> None:
        """Keep what is needed; the compiler is looked for when it is first asked about."""
        self._spec = spec
        self._engine = engine
        self._cache = cache

    @cached_property
    def _compiler(self) -> Compiler:
        return find_compiler(self._engine)

    @cached_property
    def _kit(self) -> Kit:
        return Kit(compiler=self._compiler, cache=self._cache)

    def identity(self) -> ToolchainIdentity:
        """Return the compiler's versions, read by running it, and the digest of this recipe.

        Raises:
            MissingRequirementError: ziglang is not installed, is another release, or does not run.
        """
        compiler = self._compiler
        return ToolchainIdentity(
            recipe="llvm",
            description=f"clang {compiler.clang} from ziglang {compiler.ziglang}, not AMD's compiler",
            compilers={"clang": compiler.clang, "ziglang": compiler.ziglang},
            recipe_digest=recipe_digest(),
        )

    def objection(self, unit: Unit, manifest: Manifest) -> str | None:
        """Return why this toolchain cannot build a unit, or ``None`` if it can.

        Raises:
            MissingRequirementError: the compiler, which is asked for the archs it knows, is not there.
        """
        return objection(unit, manifest, self._compiler.archs)

    def steps(self, request: BuildRequest) -> tuple[Step, ...]:
        """Return the steps that make the shared object, and the unstripped one beside its objects for the gates.

        Raises:
            InputError: build.toml names a source that is not there, or one source twice.
            MissingRequirementError: a source needs headers of ROCm that this toolchain does not have.
        """
        sources = project_sources(request.manifest)
        for source in sources:
            refuse_full_rocm(request.project, source)
        maker = ObjectSteps(compiler=self._compiler, request=request)
        made = [step for source in sources for step in maker.steps(source)]
        objects = tuple(maker.object_file(source) for source in sources)
        return (
            *self._kit.steps(),
            *made,
            self._link(request, objects, unstripped(request), strip=False),
            self._link(request, objects, request.output, strip=True),
        )

    def gates(self, request: BuildRequest) -> tuple[Gate, ...]:
        """Try the shared object: no C++ runtime inside, loads, and error messages arrive whole.

        Raises:
            MissingRequirementError: this machine has no libstdc++.so.6, so that nothing can be loaded.
        """
        return (
            runtime_gate(unstripped(request)),
            load_gate(self._engine, request.output, request.extension, self._kit.runtime_folder),
            message_gate(self._engine, self._kit),
        )

    def _link(self, request: BuildRequest, objects: tuple[Path, ...], output: Path, *, strip: bool) -> Step:
        kit = self._kit
        soname = hip_soname(request.unit.rocm or "")
        if soname is None:
            raise MissingRequirementError(f"the SONAME of libamdhip64 in ROCm {request.unit.rocm} is not known")
        kept = (kit.hip(soname), *kit.torch())
        inputs = LinkInputs(objects=(*objects, kit.shim), kept=kept, libraries=kit.runtime())
        argv = flags.link_command(self._compiler.program, output, inputs, strip=strip)
        label = f"link {output.name}"
        everything = (*inputs.objects, *inputs.kept, *inputs.libraries, EXPORTS)
        return Step(label=label, argv=argv, inputs=everything, outputs=(output,))


def unstripped(request: BuildRequest) -> Path:
    """Return where the link with its full symbol table is, which the gates read and nobody ships."""
    return request.work / f"{request.extension}.unstripped.so"
