"""A kernel project of another author's shape: a binding on torch's C++ interface, one build for each torch."""

from pathlib import Path

BUILD_TOML = """\
[general]
name = "scale-add"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]

[general.hub]
repo-id = "someone/scale-add"

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]
cxx-flags = ["-DSCALE_ADD_BINDING=1"]

[kernel.scale]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942", "gfx90a"]
hip-flags = ["-mcode-object-version=5"]
include = ["scale"]
src = ["scale/scale.hip", "scale/scale.h"]
"""

SCALE_H = """\
#pragma once
#include <cstddef>
int launch_scale(float* out, const float* in, float factor, size_t count, void* stream);
const char* scale_error(int error);
"""

SCALE_HIP = """\
#include <hip/hip_runtime.h>

#include "scale.h"

__global__ void scale(float* out, const float* in, float factor, size_t count) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < count) out[i] = in[i] * factor;
}

int launch_scale(float* out, const float* in, float factor, size_t count, void* stream) {
  scale<<<dim3((count + 255) / 256), dim3(256), 0, static_cast<hipStream_t>(stream)>>>(out, in, factor, count);
  return hipGetLastError();
}

const char* scale_error(int error) { return hipGetErrorString(static_cast<hipError_t>(error)); }
"""

BINDING_H = """\
#pragma once
#include <ATen/core/Tensor.h>
void scale_add(at::Tensor& out, const at::Tensor& input, double factor, int64_t stream);
"""

BINDING_CPP = """\
#include "torch_binding.h"

#include <torch/library.h>

#include "../scale/scale.h"
#include "registration.h"

#if !defined(SCALE_ADD_BINDING) || !defined(USE_ROCM) || defined(TORCH_TARGET_VERSION)
#error "not compiled as build.toml says"
#endif

void scale_add(at::Tensor& out, const at::Tensor& input, double factor, int64_t stream) {
  TORCH_CHECK(out.sizes() == input.sizes(), "scale_add: out has shape ", out.sizes(), ", input ", input.sizes());
  const int error = launch_scale(out.mutable_data_ptr<float>(), input.const_data_ptr<float>(),
                                 static_cast<float>(factor), input.numel(), reinterpret_cast<void*>(stream));
  TORCH_CHECK(error == 0, "scale_add: HIP says ", error, ": ", scale_error(error));
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("scale_add(Tensor! out, Tensor input, float factor, int stream) -> ()");
  ops.impl("scale_add", c10::DispatchKey::CUDA, &scale_add);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""

MODULE = """\
from ._ops import ops

def scale_add(out, input, factor, stream=0):
    ops.scale_add(out, input, factor, stream)
"""

FILES = {
    "build.toml": BUILD_TOML,
    "scale/scale.h": SCALE_H,
    "scale/scale.hip": SCALE_HIP,
    "torch-ext/torch_binding.h": BINDING_H,
    "torch-ext/torch_binding.cpp": BINDING_CPP,
    "torch-ext/scale_add/__init__.py": MODULE,
}

MATRIX = """\
schema: 1
kernels:
  - path: kernels/scale-add
torch: ["2.12", "2.13"]
rocm: ["7.1", "7.2"]
archs: [gfx90a, gfx942]
abi: per-torch
toolchains:
  "7.1": {{recipe: debian, args: {{SUITE: trixie, BASE: "{trixie}"}}}}
  "7.2": {{recipe: debian, args: {{SUITE: forky, BASE: "{forky}"}}}}
"""


def write_project(root: Path, *, trixie: str, forky: str) -> Path:
    """Write the project and its matrix below a folder; ``trixie`` and ``forky`` are base images. Return matrix.yaml."""
    for name, text in FILES.items():
        path = root / "kernels" / "scale-add" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    matrix = root / "matrix.yaml"
    matrix.write_text(MATRIX.format(trixie=trixie, forky=forky))
    return matrix
