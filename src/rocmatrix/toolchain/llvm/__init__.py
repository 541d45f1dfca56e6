"""The toolchain ``llvm``: clang and ld.lld out of the ziglang wheel, with stubs in place of ROCm and torch libraries.

It cross-compiles HIP sources with bindings on torch's stable ABI, on a machine that has neither ROCm, nor a GPU, nor a
compiler. It is not AMD's compiler, and every description says so.

The folder ``tasks`` holds the programs that build steps run; they use the standard library alone and are started by
path, so that they work in the scrubbed environment of an engine.
"""
