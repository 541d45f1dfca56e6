"""matrix.yaml: which torch x ROCm x gfx combinations an author promises, and what builds them."""

from __future__ import annotations

from collections.abc import Mapping

from rocmatrix.errors import InputError
from rocmatrix.plan.audit_choice import AuditChoice
from rocmatrix.plan.matrix_audit import audit_choice
from rocmatrix.plan.matrix_fields import (
    arch_list,
    build_arguments,
    check_image,
    kernel_path,
    labels,
    minor,
    minor_list,
    reason,
    recipe,
    repo_id,
)
from rocmatrix.plan.matrix_model import (
    CHECK_KEYS,
    HOST,
    ISOLATIONS,
    MATRIX_SCHEMA,
    RECIPES,
    RELEASE_KEYS,
    AbiChoice,
    AxisPlaces,
    CheckImage,
    Exclude,
    Include,
    KernelEntry,
    Matrix,
    ToolchainChoice,
)
from rocmatrix.plan.node import Kind, Node, require_distinct
from rocmatrix.plan.text import quote
from rocmatrix.plan.version import is_minor
from rocmatrix.plan.yaml_file import read_yaml

__all__ = [
    "MATRIX_SCHEMA",
    "RECIPES",
    "AbiChoice",
    "AxisPlaces",
    "Exclude",
    "Include",
    "KernelEntry",
    "Matrix",
    "ToolchainChoice",
    "parse_matrix",
]

_REQUIRED = ("schema", "kernels", "torch", "rocm", "archs")
_KEYS = (*_REQUIRED, "abi", "include", "exclude", "toolchains", "check", "release")


def parse_matrix(content: bytes, where: str) -> Matrix:
    """Return what a matrix.yaml says.

    Args:
        content: the bytes of the file.
        where: its name for messages, e.g. ``matrix.yaml``.

    Raises:
        InputError: the file is not what it should be; the message has the line, what was found and what is allowed.
    """
    keys = read_yaml(content, where).mapping(_KEYS, _REQUIRED)
    _require_schema(keys["schema"])
    return Matrix(
        kernels=_kernels(keys["kernels"]),
        torch=minor_list(keys["torch"]),
        rocm=minor_list(keys["rocm"]),
        archs=arch_list(keys["archs"]),
        abi=_abi(keys["abi"]) if "abi" in keys else AbiChoice.AUTO,
        include=tuple(_include(node) for node in _list(keys, "include")),
        exclude=tuple(_exclude(node) for node in _list(keys, "exclude")),
        toolchains=_toolchains(keys["toolchains"]) if "toolchains" in keys else (),
        check_runner=_check_runner(keys["check"]) if "check" in keys else (),
        check_images=_check_images(keys["check"]) if "check" in keys else (),
        allow_toolchains=_allow_toolchains(keys["release"]) if "release" in keys else (),
        allow_host_builds=_allow_host_builds(keys["release"]) if "release" in keys else False,
        places=AxisPlaces(**{axis: keys[axis].where for axis in ("kernels", "torch", "rocm", "archs")}),
        where=where,
    )


def _require_schema(node: Node) -> None:
    if node.integer(lowest=0, fix=f"Write schema: {MATRIX_SCHEMA}") != MATRIX_SCHEMA:
        fix = f"This rocmatrix reads schema {MATRIX_SCHEMA}; a newer one may read yours."
        raise node.error(f"schema {node.text} is not known", fix)


def _list(keys: Mapping[str, Node], name: str) -> tuple[Node, ...]:
    return keys[name].elements() if name in keys else ()


def _kernels(node: Node) -> tuple[KernelEntry, ...]:
    entries = tuple(_kernel(item) for item in node.elements())
    if not entries:
        raise node.error("names no kernel", "List the folder of at least one kernel, e.g. - kernels/gemm")
    seen: dict[str, KernelEntry] = {}
    for entry in entries:
        if entry.path in seen:
            fix = f"Remove one; the first is at {seen[entry.path].where}."
            raise InputError(f"the kernel {entry.path} is listed twice", where=entry.where, fix=fix)
        seen[entry.path] = entry
    return entries


def _kernel(node: Node) -> KernelEntry:
    if node.kind is Kind.STRING:
        return KernelEntry(path=kernel_path(node), repo_id=None, archs=None, abi=None, where=node.where)
    if node.kind is not Kind.MAPPING:
        fix = "Write - kernels/gemm, or - path: kernels/gemm with keys of its own."
        raise node.error(f"expected a path or a mapping, found {node.describe()}", fix)
    keys = node.mapping(("path", "repo-id", "archs", "abi", "audit"), ("path",))
    return KernelEntry(
        path=kernel_path(keys["path"]),
        repo_id=repo_id(keys["repo-id"]) if "repo-id" in keys else None,
        archs=arch_list(keys["archs"]) if "archs" in keys else None,
        abi=_abi(keys["abi"]) if "abi" in keys else None,
        audit=audit_choice(keys["audit"]) if "audit" in keys else AuditChoice(),
        where=node.where,
    )


def _abi(node: Node) -> AbiChoice:
    return AbiChoice(node.choice([choice.value for choice in AbiChoice]))


def _include(node: Node) -> Include:
    keys = node.mapping(("torch", "rocm", "archs", "kernel"), ("torch", "rocm"))
    return Include(
        torch=minor(keys["torch"]),
        rocm=minor(keys["rocm"]),
        archs=arch_list(keys["archs"]) if "archs" in keys else None,
        kernel=keys["kernel"].string() if "kernel" in keys else None,
        where=node.where,
    )


def _exclude(node: Node) -> Exclude:
    keys = node.mapping(("torch", "rocm", "archs", "kernel", "reason"))
    if not keys.keys() - {"reason"}:
        raise node.error("excludes everything", "Say what: torch, rocm, kernel or archs.")
    return Exclude(
        torch=minor(keys["torch"]) if "torch" in keys else None,
        rocm=minor(keys["rocm"]) if "rocm" in keys else None,
        kernel=keys["kernel"].string() if "kernel" in keys else None,
        archs=arch_list(keys["archs"]) if "archs" in keys else None,
        reason=reason(keys["reason"]) if "reason" in keys else None,
        where=node.where,
    )


def _toolchains(node: Node) -> tuple[ToolchainChoice, ...]:
    return tuple(_toolchain(rocm, choice) for rocm, choice in node.table().items())


def _toolchain(rocm: str, node: Node) -> ToolchainChoice:
    if not is_minor(rocm):
        fix = 'A key of toolchains is a ROCm minor such as "7.2"; patch levels belong into args.'
        raise node.error(f"{quote(rocm)} is not a ROCm minor", fix)
    if node.kind is Kind.STRING:
        return ToolchainChoice(rocm=rocm, recipe=recipe(node), args={}, where=node.where)
    if node.kind is not Kind.MAPPING:
        raise node.error(f"expected a recipe or a mapping, found {node.describe()}", "Write e.g. llvm.")
    keys = node.mapping(("recipe", "args"), ("recipe",))
    return ToolchainChoice(
        rocm=rocm,
        recipe=recipe(keys["recipe"]),
        args=build_arguments(keys["args"]) if "args" in keys else {},
        where=node.where,
    )


def _check_runner(node: Node) -> tuple[str, ...]:
    keys = node.mapping(CHECK_KEYS)
    return labels(keys["runner"]) if "runner" in keys else ()


def _check_images(node: Node) -> tuple[CheckImage, ...]:
    keys = node.mapping(CHECK_KEYS)
    return tuple(check_image(*item) for item in keys["images"].table().items()) if "images" in keys else ()


def _allow_host_builds(node: Node) -> bool:
    keys = node.mapping(RELEASE_KEYS)
    return "isolation" in keys and keys["isolation"].choice(ISOLATIONS) == HOST


def _allow_toolchains(node: Node) -> tuple[str, ...]:
    keys = node.mapping(RELEASE_KEYS)
    if "allow-toolchains" not in keys:
        return ()
    items = keys["allow-toolchains"].elements()
    allowed = tuple(recipe(item) for item in items)
    require_distinct(items)
    return allowed
