"""The toolchain of a ROCm: identity, objections, steps and gates."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from rocmatrix import digest
from rocmatrix.digest import Digest
from rocmatrix.engine.interface import Engine
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Unit
from rocmatrix.records import Gate, ToolchainIdentity
from rocmatrix.toolchain.hipcc.compiler import Compiler, ask_compiler
from rocmatrix.toolchain.hipcc.gates import exports_gate, load_gate
from rocmatrix.toolchain.hipcc.objects import PLACES, Steps
from rocmatrix.toolchain.hipcc.setup import Setup
from rocmatrix.toolchain.hipcc.sources import objection, require_headers
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.llvm.facts import DATA
from rocmatrix.toolchain.project_sources import project_sources


class HipccToolchain:
    """Compiles units with hipcc and its clang; safe to use from threads."""

    def __init__(self, setup: Setup, *, engine: Engine) -> None:
        """Keep what is needed; the compiler is run when it is first asked about."""
        self._setup = setup
        self._engine = engine

    @cached_property
    def _compiler(self) -> Compiler:
        return ask_compiler(self._engine, self._setup)

    def identity(self) -> ToolchainIdentity:
        """Return the versions that hipcc and clang say when they are run, and the digests of recipe and image.

        Raises:
            MissingRequirementError: they are not there, or do not run.
        """
        compiler = self._compiler
        return ToolchainIdentity(
            recipe=self._setup.recipe,
            description=compiler.description,
            compilers={"clang": compiler.version, "hip": compiler.hip},
            recipe_digest=recipe_digest(self._setup.recipe_digest),
            image_digest=self._setup.image() if self._setup.image else None,
        )

    def objection(self, unit: Unit, manifest: Manifest) -> str | None:
        """Return why this toolchain cannot build a unit, or ``None`` if it can.

        Raises:
            MissingRequirementError: the compiler, which is asked for its version and archs, is not there.
        """
        return objection(unit, manifest, self._setup, self._compiler)

    def steps(self, request: BuildRequest) -> tuple[Step, ...]:
        """Return the steps that make the shared object.

        Raises:
            InputError: build.toml names a source that is not there, or one source twice.
            MissingRequirementError: a source includes headers of torch for ROCm, and the wheel at hand has none.
        """
        sources = project_sources(request.manifest)
        for source in sources:
            require_headers(request, source)
        made = Steps(setup=self._setup, compiler=self._compiler, identity=self.identity(), request=request)
        return made.all(sources)

    def gates(self, request: BuildRequest) -> tuple[Gate, ...]:
        """Try the shared object: it exports its entry point alone, and the loader of the image takes it."""
        return exports_gate(request.output, request), load_gate(self._engine, request)


def recipe_files() -> dict[str, Path]:
    """Return our files that decide how things are compiled, by name: this package, and what it uses of neighbours."""
    folder = Path(__file__).parent
    above = folder.parent
    shared = (above / "includes.py", above / "project_sources.py", above / "llvm" / "flags.py", DATA / "torch.toml")
    own = {path.relative_to(above).as_posix(): path for path in (*folder.glob("*.py"), *shared)}
    return own | {path.name: path for path in PLACES}


def recipe_digest(image_recipe: Digest | None) -> Digest:
    """Return the digest of how things are compiled, and of the image's recipe where there is one, as records say it."""
    parts = [
        ("files", digest.of_named_files(recipe_files()).encode()),
        ("recipe", (image_recipe or "").encode()),
    ]
    return digest.of_parts(parts)
