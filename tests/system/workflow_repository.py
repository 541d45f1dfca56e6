"""A repository of a kernel author, as workflows find it: a small kernel with its own cases, matrix.yaml, a tag."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

OWNER = "acme"

_BUILD = """[general]
name = "{name}"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]

[general.hub]
repo-id = "acme/{name}"

[torch]
stable-abi = "2.10"
src = ["torch-ext/torch_binding.cpp"]

[kernel.{name}]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942"]
src = ["{name}.hip", "{name}.h"]
"""
_HEADER = "int launch_{name}(const float* x, float* out, int n, float factor, void* stream);\n"
_DEVICE = """#include "{name}.h"

#include <hip/hip_runtime.h>

namespace {{

__global__ void __launch_bounds__(64) {name}(const float* x, float* out, int n, float factor) {{
  const int i = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  if (i < n) out[i] = {formula};
}}

}}  // namespace

int launch_{name}(const float* x, float* out, int n, float factor, void* stream) {{
  const dim3 groups(static_cast<unsigned int>((n + 63) / 64));
  {name}<<<groups, 64, 0, static_cast<hipStream_t>(stream)>>>(x, out, n, factor);
  return hipGetLastError();
}}
"""
_BINDING = """#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include "../{name}.h"
#include "registration.h"

torch::stable::Tensor {name}(const torch::stable::Tensor& x, double factor) {{
  torch::stable::Tensor out = torch::stable::empty_like(x);
  const float* from = static_cast<const float*>(x.const_data_ptr());
  float* to = static_cast<float*>(out.mutable_data_ptr());
  const int error = launch_{name}(from, to, static_cast<int>(x.numel()), static_cast<float>(factor), nullptr);
  STD_TORCH_CHECK(error == 0, "{name}: HIP error ", error);
  return out;
}}

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {{ ops.def("{name}(Tensor x, float factor) -> Tensor"); }}
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) {{ ops.impl("{name}", TORCH_BOX(&{name})); }}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""
_CASES = """import numpy as np

from rocmatrix.cases import Case

CASES = [
    Case(
        name="plain",
        op="{name}",
        arguments={{
            "x": lambda random: random.standard_normal(100).astype(np.float32),
            "factor": lambda _random: np.asarray(0.5),
        }},
        reference=lambda x, factor: ({reference}).astype(np.float64),
        rtol=1e-6,
        atol=1e-6,
        cost=100.0,
    )
]
"""
MATRIX = """schema: 1
kernels: [kernels/{name}]
torch: ["2.10", "2.12", "2.13"]
rocm: ["7.1", "7.2"]
archs: [gfx942]
toolchains: {{"7.1": llvm, "7.2": llvm}}
release: {{allow-toolchains: [llvm], isolation: host}}
"""
FORMULAS = {"scale": ("x[i] * factor", "x * np.float32(factor)"), "shift": ("x[i] + factor", "x + np.float32(factor)")}
"""Kernel -> what its device code and its reference compute."""


def write_kernel(
    root: Path, name: str, *, caller: str, matrix: str = MATRIX, others: Mapping[str, str] | None = None
) -> Path:
    """Write a repository with one kernel and a workflow that calls the reusable one.

    Args:
        root: an empty place.
        name: of the kernel, one of ``FORMULAS``.
        caller: text of its release workflow.
        matrix: text of matrix.yaml, with ``{name}`` for the kernel.
        others: file name -> text of further workflows.
    """
    formula, reference = FORMULAS[name]
    project = root / "kernels" / name
    (project / "torch-ext" / name).mkdir(parents=True)
    (project / "tests").mkdir()
    files = {
        "build.toml": _BUILD,
        f"{name}.h": _HEADER,
        f"{name}.hip": _DEVICE,
        "torch-ext/torch_binding.cpp": _BINDING,
        "tests/cases.py": _CASES,
    }
    for path, text in files.items():
        (project / path).write_text(text.format(name=name, formula=formula, reference=reference))
    (project / "torch-ext" / name / "__init__.py").write_text(
        f'"""The kernel {name}."""\n\nfrom ._ops import ops\n\n{name} = ops.{name}\n'
    )
    return _commit_all(root, {"release.yml": caller, **(others or {})}, matrix.format(name=name))


def write_python_kernel(root: Path, name: str, *, caller: str, matrix: str = MATRIX) -> Path:
    """Write a repository as ``write_kernel`` does, of a kernel in Python alone: nothing of it is compiled."""
    project = root / "kernels" / name
    (project / "torch-ext" / name).mkdir(parents=True)
    (project / "build.toml").write_text(_BUILD.format(name=name).partition("[torch]")[0] + "[torch-noarch]\n")
    (project / "torch-ext" / name / "__init__.py").write_text(f'"""The kernel {name}."""\n')
    return _commit_all(root, {"release.yml": caller}, matrix.format(name=name))


def _commit_all(root: Path, workflows: Mapping[str, str], matrix: str) -> Path:
    (root / "matrix.yaml").write_text(matrix)
    (root / ".github/workflows").mkdir(parents=True)
    for name, text in workflows.items():
        (root / ".github/workflows" / name).write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", str(root))
    commit(root, "Sources", tag="v1.0.0")
    return root


def commit(root: Path, message: str, *, tag: str | None = None) -> None:
    """Commit everything, and tag it."""
    git(root, "add", ".")
    git(root, "commit", "-qm", message)
    if tag:
        git(root, "tag", "-a", tag, "-m", tag)


def git(root: Path, *arguments: str) -> str:
    """Run git as a person of the tests, and return what it says."""
    identity = {f"GIT_{who}_{key}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout
