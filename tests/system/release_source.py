"""A small kernel that can be released: a git repository with a tag, and an output folder that a run left."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rocmatrix import digest
from rocmatrix.audit.stage import audit_units
from rocmatrix.check.stage import check_units
from rocmatrix.collect.stage import collect_kernels
from rocmatrix.events import discard
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.project_listing import load_plan
from rocmatrix.release.gates import Allowances
from rocmatrix.release.publication import Wanted
from rocmatrix.release.stage import Request, prepare
from rocmatrix.store import Store
from tests.golden.content import PROJECTS, STARTED, build_record, scale_unit
from tests.golden.make_dist import DIST

OWNER = "acme"
REPOSITORY = f"{OWNER}/scale"
MATRIX = """schema: 1
kernels: [kernels/scale]
torch: ["2.11", "2.13"]
rocm: [{rocm}]
archs: [gfx942]
toolchains: {{{toolchains}}}
exclude: [{exclude}]
release: {{allow-toolchains: [llvm], isolation: host}}
"""
EXCLUDE = '{torch: "2.11", rocm: "7.1", reason: wrong results with this torch}'
ALLOWED = Allowances(toolchains=frozenset({"llvm"}), untested=True, host_builds=True)


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a release is made from.

    Attributes:
        root: the git repository.
        store: the output folder.
        plan: in it.
        tag: an annotated tag of the commit that the variants name.
    """

    root: Path
    store: Store
    plan: Plan
    tag: str

    @property
    def kernel(self) -> PlannedKernel:
        """The only kernel."""
        return self.plan.kernels[0]

    @property
    def project(self) -> Path:
        """Its folder."""
        return self.root / self.kernel.path

    def wanted(self, **allowances: object) -> Wanted:
        """Return what the stage makes of it."""
        path = self.project / "build.toml"
        request = Request(
            tag=self.tag,
            kernel=self.kernel,
            manifest=parse_manifest(path.read_bytes(), str(path)),
            project=self.project,
            plan=self.plan,
            compat=load_compat(),
            allowances=replace(ALLOWED, **allowances),  # type: ignore[arg-type]
            credential="a test",
        )
        return prepare(request, self.store)


def make_source(
    folder: Path,
    *,
    tag: str = "v2.0.0",
    rocms: Iterable[str] = ("7.1", "7.2"),
    line: str = "",
    large: str = "",
    repo_id: str = REPOSITORY,
) -> Source:
    """Make a source below a folder.

    Args:
        folder: an empty place.
        tag: of the release.
        rocms: which units there are.
        line: added to the Python of the variant for ROCm 7.2, so that its bytes are others.
        large: text of a second benchmark, if there is to be one.
        repo_id: on the Hub.
    """
    root, store = folder / "source", Store(folder / "dist")
    _write_repository(root, tuple(rocms), tag, large, repo_id)
    plan = load_plan(root / "matrix.yaml", toolchain=None)
    store.write_plan(plan)
    for unit in plan.units:
        shutil.copytree(DIST / "units" / unit.id / "payload", store.root / "staged" / unit.id)
        staged = store.root / "staged" / unit.id
        if line and unit.id == scale_unit("7.2"):
            (staged / "__init__.py").write_text((staged / "__init__.py").read_text() + f"\n{line}\n")
        store.write_record(build_record(unit, digest.of_folder(staged), staged))
        store.replace_payload(unit.id, staged)
        store.build_log(unit.id).write_text(f"built {unit.id}\n")
    for record in audit_units(plan.units, plan=plan, source_root=root, store=store, emit=discard).values():
        store.write_record(replace(record, started=STARTED, seconds=0.1))
    for check in check_units(plan.units, plan=plan, source_root=root, store=store, emit=discard).records.values():
        store.write_record(replace(check, started=STARTED, seconds=0.1))
    coverage = collect_kernels(plan, source_root=root, store=store, emit=discard)
    assert all(each.complete for each in coverage.values()), coverage
    return Source(root=root, store=store, plan=plan, tag=tag)


def _write_repository(root: Path, rocms: tuple[str, ...], tag: str, large: str, repo_id: str) -> None:
    project = root / "kernels/scale"
    project.mkdir(parents=True)
    (project / "build.toml").write_text(PROJECTS["kernels/scale"].replace("golden/scale", repo_id))
    (project / "scale.hip").write_text("// compiled already\n")
    (project / "benchmarks").mkdir()
    (project / "benchmarks/benchmark_scale.py").write_text("# nothing to measure\n")
    if large:
        (project / "benchmarks/benchmark_large.py").write_text(large)
    toolchains = ", ".join(f'"{rocm}": llvm' for rocm in rocms)
    rocm, exclude = ", ".join(f'"{each}"' for each in rocms), EXCLUDE if "7.1" in rocms else ""
    (root / "matrix.yaml").write_text(MATRIX.format(rocm=rocm, toolchains=toolchains, exclude=exclude))
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "Sources"), ("tag", "-a", tag, "-m", tag)):
        git(root, *arguments)


def git(root: Path, *arguments: str) -> str:
    """Run git as a person of the tests, and return what it says."""
    identity = {f"GIT_{who}_{key}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout
