"""The files that rocmatrix generates into a build: ``registration.h`` and ``_ops.py``."""

import sys
import types

import pytest

from rocmatrix.build import ops_module, registration

MACROS = (
    "TORCH_LIBRARY_EXPAND",
    "TORCH_LIBRARY_IMPL_EXPAND",
    "STABLE_TORCH_LIBRARY_EXPAND",
    "STABLE_TORCH_LIBRARY_IMPL_EXPAND",
    "REGISTER_EXTENSION",
    "ROCM_KERNEL",
    "USE_ROCM",
    "TORCH_EXTENSION_NAME",
)


@pytest.mark.parametrize("macro", MACROS)
def test_registration_defines_kernel_builders_macros(macro: str) -> None:
    assert f"#define {macro}" in registration.text("_x_rocm_01234567")


def test_registration_names_the_extension_and_no_other_header() -> None:
    text = registration.text("_x_rocm_01234567")
    assert "#define TORCH_EXTENSION_NAME _x_rocm_01234567" in text
    assert "#include" not in text


@pytest.mark.parametrize("compiled", [True, False])
def test_ops_are_reached_under_the_names_that_kernels_use(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a parameter of pytest
    torch = types.ModuleType("torch")
    torch.ops = types.SimpleNamespace(_x="the ops")  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "torch", torch)
    package = types.ModuleType("package")
    package._x = "the extension"  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "package", package)
    scope: dict[str, object] = {"__name__": "package._ops", "__package__": "package"}
    exec(compile(ops_module.text("_x", compiled=compiled), "_ops.py", "exec"), scope)  # noqa: S102 - our own text
    assert scope["ops"] == "the ops"
    prefix = scope["add_op_namespace_prefix"]
    assert callable(prefix)
    assert prefix("gemm") == "_x::gemm"
    assert ("_x" in scope) is compiled
