"""The keys and words of build.toml as the official parser knows them (``kernels._rust.Build`` of kernels 0.17.2)."""

from __future__ import annotations

BACKENDS = ("cann", "cpu", "cuda", "metal", "neuron", "rocm", "tpu", "xpu")
CUTLASS = ("2_10", "3_5", "3_6", "3_8", "3_9", "4_0", "4_4", "4_5")
DEPENDS = ("torch", *(f"cutlass_{version}" for version in CUTLASS), "sycl_tla", "metal-cpp")
GENERAL = ("name", "version", "license", "upstream", "source", "backends", "hub", "python-depends")
GENERAL_TABLES = {
    "cuda": ("minver", "maxver", "python-depends", "kernel-depends"),
    "neuron": ("python-depends", "kernel-depends"),
    "xpu": ("python-depends", "kernel-depends"),
    "tpu": ("python-depends",),
}
KERNEL = ("backend", "depends", "src", "include", "cxx-flags")
KERNEL_EXTRA = {
    "cpu": (),
    "cuda": ("cuda-capabilities", "cuda-flags", "cuda-minver"),
    "metal": (),
    "rocm": ("rocm-archs", "hip-flags"),
    "xpu": ("sycl-flags",),
}
TORCH = ("src", "include", "pyext", "minver", "maxver", "stable-abi", "cxx-flags")
NOARCH = ("pyext", "cuda_capabilities", "rocm_archs")
TVM_FFI = ("src", "include", "pyext", "cxx-flags")
