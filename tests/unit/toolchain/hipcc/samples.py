"""A compiler, a setup and a request, for tests that run nothing."""

from dataclasses import replace
from pathlib import Path

from rocmatrix.plan.model import Abi
from rocmatrix.toolchain.hipcc.compiler import Compiler
from rocmatrix.toolchain.hipcc.setup import Setup
from rocmatrix.toolchain.interface import BuildRequest
from tests.unit.toolchain.llvm.samples import KERNEL, MANIFEST, UNIT, with_kernel

SETUP = Setup(recipe="debian", hipcc="/usr/bin/hipcc", clang="/usr/bin/clang++", python="/usr/bin/python3")
COMPILER = Compiler(
    hip="7.2.53211-e1a6bc5663",
    rocm="7.2",
    clang="/usr/bin/clang++",
    version="21.1.8",
    maker="Debian",
    archs=frozenset({"gfx90a", "gfx942"}),
    root=None,
)
PER_TORCH = replace(UNIT, abi=Abi.PER_TORCH, torch="2.12")
HIP_FLAGS = with_kernel(hip_flags=("--offload-compress",), cxx_flags=("-Wall",))

HIP = '#include <hip/hip_runtime.h>\n#include "add.h"\n'


def request(root: Path, **changes: object) -> BuildRequest:
    """Return a request with its sources below a folder."""
    made = BuildRequest(
        unit=UNIT,
        manifest=MANIFEST,
        project=root / "project",
        generated=root / "generated",
        torch_include=root / "torch-include",
        work=root / "work",
        device_cache=root / "device",
        extension="_add_rocm_0a1b2c3d",
        output=root / "output" / "_add_rocm_0a1b2c3d.abi3.so",
        cxx_standard="c++20",
    )
    made = replace(made, **changes)  # type: ignore[arg-type] # checked by the class
    files = {
        made.project / "torch-ext/binding.cpp": '#include "binding.h"\n',
        made.project / "torch-ext/binding.h": "#include <torch/library.h>\n",
        made.project / KERNEL.src[0]: HIP,
        made.project / KERNEL.src[1]: "// add\n",
        root / "torch-include/torch/library.h": "// torch\n",
    }
    for path, text in files.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return made
