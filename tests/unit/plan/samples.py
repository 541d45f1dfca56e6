"""Small projects for the plan's tests: build.toml texts and matrices, written as users write them."""

from collections.abc import Mapping

from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.model import Cell, Plan
from rocmatrix.plan.planner import make_plan

GENERAL = """
[general]
name = "{name}"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
[general.hub]
repo-id = "someone/{name}"
"""

SECTION = """
[kernel.{id}]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942", "gfx950"]
src = ["{id}.hip"]
"""

STABLE = GENERAL + '[torch]\nstable-abi = "2.10"\nsrc = ["binding.cpp"]\n' + SECTION.replace("{id}", "k")
PER_TORCH = GENERAL + '[torch]\nsrc = ["binding.cpp"]\n' + SECTION.replace("{id}", "k")
NOARCH = GENERAL + "[torch-noarch]\n"

MATRIX = """
schema: 1
kernels: [gemm]
torch: ["2.12", "2.13"]
rocm: ["7.1", "7.2"]
archs: [gfx942]
toolchains: {"7.1": llvm, "7.2": llvm}
"""


def plan_of(matrix: str, projects: Mapping[str, str] | None = None, *, toolchain: str | None = None) -> Plan:
    """Return the plan of a matrix.yaml; ``projects`` maps a kernel's path to its build.toml, ``{name}`` filled in."""
    texts = projects or {"gemm": STABLE}
    manifests = {
        path: parse_manifest(text.replace("{name}", path.rsplit("/", 1)[-1]).encode(), f"{path}/build.toml")
        for path, text in texts.items()
    }
    return make_plan(parse_matrix(matrix.encode(), "matrix.yaml"), manifests, load_compat(), toolchain=toolchain)


def cell_of(plan: Plan, cell_id: str) -> Cell:
    """Return one cell of a plan by its id."""
    return next(cell for cell in plan.cells if cell.id == cell_id)
