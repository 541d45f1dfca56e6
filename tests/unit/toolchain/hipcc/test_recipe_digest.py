"""The digest of how things are compiled has every file of ours that decides it, also of neighbours."""

import ast
from pathlib import Path

from rocmatrix.toolchain.hipcc.toolchain import recipe_files

TOOLCHAIN = Path(__file__).parents[4] / "src" / "rocmatrix" / "toolchain"
KNOWN_ELSEWHERE = {"interface", "llvm/facts", "torch_headers"}
"""Only says what a toolchain is, where files lie, and what an error says."""


def _neighbours() -> set[str]:
    """Return the modules of the toolchains that those of hipcc import, as paths without suffix."""
    found = set()
    for path in (TOOLCHAIN / "hipcc").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rocmatrix.toolchain."):
                found.add((node.module or "").removeprefix("rocmatrix.toolchain.").replace(".", "/"))
    return {module for module in found if not module.startswith("hipcc")}


def test_every_module_that_decides_what_is_compiled_counts() -> None:
    counted = {path.relative_to(TOOLCHAIN).as_posix().removesuffix(".py") for path in recipe_files().values()}
    assert _neighbours() - KNOWN_ELSEWHERE <= counted
    assert {"llvm/data/torch.toml", "llvm/data/exports.map", "hipcc/flags"} <= counted
