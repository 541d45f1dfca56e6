"""A kernel project of a few lines, and a toolchain that "compiles" by copying: what is tested is the stage itself.

The units are bound to one torch, whose headers lie in the cache already.
"""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.unit.build.shelf import put_headers

from rocmatrix.build.stage import build_units
from rocmatrix.digest import of_bytes
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Engine
from rocmatrix.engine.paths import Place
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Event
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Plan, PlannedKernel, ToolchainId, Unit, UnitId
from rocmatrix.records import BuildRecord, Gate, ToolchainIdentity
from rocmatrix.store import Store
from rocmatrix.toolchain.interface import BuildRequest, Step

BUILD_TOML = """\
[general]
name = "small-kernel"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]

[torch]
src = ["torch-ext/torch_binding.cpp"]
pyext = ["py", "json"]

[kernel.small]
backend = "rocm"
depends = ["torch"]
src = ["small/one.hip", "small/two.hip"]
include = ["include"]
"""

FILES = {
    "build.toml": BUILD_TOML,
    "README.md": "read me\n",
    "small/one.hip": "one\n",
    "small/two.hip": "two\n",
    "small/not-declared.hip": "not declared\n",
    "include/deep/small.h": "// small\n",
    "include/notes.txt": "no header\n",
    "torch-ext/torch_binding.cpp": "binding\n",
    "torch-ext/small_kernel/__init__.py": "from ._ops import ops\n",
    "torch-ext/small_kernel/layers/__init__.py": "",
    "torch-ext/small_kernel/configs/tuned.json": "{}\n",
    "torch-ext/small_kernel/notes.txt": "left out\n",
}

COMPILER = """\
if grep -q '#broken' "$1"; then
  echo "$1:$(grep -n '#broken' "$1" | cut -d: -f1):1: error: this line is broken"
  exit 1
fi
cat "$1" > "$2"
"""

TOOLCHAIN = ToolchainId("small-rocm7.2")


def make_project(root: Path, files: dict[str, str] = FILES) -> Path:
    """Write the project where a plan expects it, and return its folder."""
    project = root / "kernels" / "small"
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return project


def make_unit(torch: str) -> Unit:
    variant = f"torch{torch.replace('.', '')}-cxx11-rocm72-x86_64-linux"
    return Unit(
        id=UnitId(f"small-kernel.{variant}"),
        kernel="small-kernel",
        variant=variant,
        abi=Abi.PER_TORCH,
        torch=torch,
        rocm="7.2",
        toolchain=TOOLCHAIN,
        archs=("gfx942",),
        serves=(),
    )


def make_plan(units: tuple[Unit, ...]) -> Plan:
    kernel = PlannedKernel(name="small-kernel", path="kernels/small", repo_id="rocmatrix/small", version=1)
    return Plan(kernels=(kernel,), toolchains=(), cells=(), units=units)


@dataclass(frozen=True, kw_only=True)
class SmallToolchain:
    """Copies each source to an object and joins the objects; ``objections`` and ``closed`` are by torch."""

    folder: Path
    version: str = "1"
    objections: dict[str, str] = field(default_factory=dict)
    closed_gates: tuple[str, ...] = ()
    missing: str | None = None
    pause: float = 0.0
    places: tuple[Place, ...] = ()

    def identity(self) -> ToolchainIdentity:
        if self.missing:
            raise MissingRequirementError(self.missing, where="small", fix="Install it.")
        return ToolchainIdentity(
            recipe="small",
            description="a copier",
            compilers={"cat": self.version},
            recipe_digest=of_bytes(COMPILER.encode()),
        )

    def objection(self, unit: Unit, manifest: Manifest) -> str | None:
        del manifest
        return self.objections.get(unit.torch or "")

    def steps(self, request: BuildRequest) -> tuple[Step, ...]:
        compiler = self.folder / "compiler.sh"
        compiler.write_text(COMPILER)
        names = [*(request.manifest.torch.src if request.manifest.torch else ())]
        names += [name for kernel in request.manifest.rocm_kernels for name in kernel.src]
        sources = [request.project / name for name in names] + [request.generated / "registration.h"]
        objects = [request.work / f"{number}.o" for number in range(len(sources))]
        made = [
            Step(
                label=f"copy {source.name}",
                argv=("sh", "-c", f'sleep {self.pause}; sh "$@"', "sh", str(compiler), str(source), str(target)),
                inputs=(source,),
                outputs=(target,),
                places=(Place(host=compiler, name="compiler.sh"), *self.places),
            )
            for source, target in zip(sources, objects, strict=True)
        ]
        join = ("sh", "-c", 'out="$0"; cat "$@" > "$out"', str(request.output), *(str(path) for path in objects))
        return (*made, Step(label="join", argv=join, inputs=tuple(objects), outputs=(request.output,), takes_long=True))

    def gates(self, request: BuildRequest) -> tuple[Gate, ...]:
        opened = Gate(name="exists", passed=request.output.exists(), detail="looked")
        closed = request.unit.torch in self.closed_gates
        return (opened, Gate(name="closed", passed=not closed, detail="it is closed"))


@dataclass
class Site:
    """A source root, an output folder and a toolchain, with the events of the last build."""

    root: Path
    toolchain: SmallToolchain
    events: list[Event] = field(default_factory=list)
    engine: Engine = field(default_factory=HostEngine)

    @classmethod
    def make(cls, root: Path) -> "Site":
        make_project(root)
        return cls(root=root, toolchain=SmallToolchain(folder=root))

    @property
    def project(self) -> Path:
        return self.root / "kernels" / "small"

    @property
    def store(self) -> Store:
        return Store(self.root / "dist")

    def change(self, **changes: object) -> None:
        self.toolchain = replace(self.toolchain, **changes)  # type: ignore[arg-type] # the fields of SmallToolchain

    def build(
        self, *torches: str, units: tuple[Unit, ...] = (), jobs: int = 2, use_cache: bool = True
    ) -> list[BuildRecord]:
        """Build the units of these torches and return their records."""
        units = units or tuple(make_unit(torch) for torch in torches)
        for unit in units:
            if unit.abi is Abi.PER_TORCH and unit.torch and unit.rocm:
                put_headers(self.root / "cache", torch=unit.torch, rocm=unit.rocm)
        self.events.clear()
        with self.store.exclusive():
            records = build_units(
                units,
                plan=make_plan(units),
                source_root=self.root,
                store=self.store,
                engines={TOOLCHAIN: self.engine},
                toolchains={TOOLCHAIN: self.toolchain},
                emit=self.events.append,
                jobs=jobs,
                use_cache=use_cache,
                cache=self.root / "cache",
            )
        return list(records.values())


if __name__ == "__main__":
    site = Site(root=Path(sys.argv[1]), toolchain=SmallToolchain(folder=Path(sys.argv[1]), pause=0.02))
    site.build("2.12", "2.13", "2.14", use_cache="--no-cache" not in sys.argv)
