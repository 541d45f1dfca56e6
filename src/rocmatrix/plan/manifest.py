"""build.toml: edition 5, and editions 4 and 3 as the official tools upgrade them.

The official parser is the one in the ``kernels`` package (``kernels._rust.Build`` of 0.17.2): keys, defaults and the
lists of backends and dependencies are its own, and tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocmatrix.plan import manifest_fields as fields
from rocmatrix.plan import manifest_keys as names
from rocmatrix.plan.manifest_editions import CURRENT, DEFAULT_VERSION, FRAMEWORKS, OLDEST, edition_of, upgrade
from rocmatrix.plan.manifest_model import KernelDependency, KernelSection, Manifest, TorchSection
from rocmatrix.plan.node import Kind, Node
from rocmatrix.plan.text import in_words
from rocmatrix.plan.toml_file import read_toml

__all__ = ["KernelDependency", "KernelSection", "Manifest", "TorchSection", "parse_manifest"]


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Return what a build.toml says.

    Args:
        content: the bytes of the file.
        where: its name for messages, e.g. ``kernels/gemm/build.toml``.

    Raises:
        InputError: the file is not what it should be; the message has the path of keys, what was found and what is
            allowed.
    """
    root = read_toml(content, where)
    edition = edition_of(root)
    tables = root.mapping(("general", "kernel", *FRAMEWORKS), ("general",))
    framework = _framework(root, edition)
    general = _general(tables["general"], edition)
    hub = general["hub"].mapping(("repo-id", "branch")) if "hub" in general else {}
    frame = _frame_keys(root, framework)
    torch = _torch(frame, edition) if framework == "torch" else None
    kernels = _kernels(tables["kernel"]) if "kernel" in tables else ()
    noarch_archs = fields.archs(frame, "rocm_archs") if framework == "torch-noarch" else None
    manifest = Manifest(
        name=fields.kernel_name(general["name"]),
        version=fields.major_version(general["version"]) if "version" in general else DEFAULT_VERSION,
        license=fields.licence(general["license"]),
        backends=tuple(item.choice(names.BACKENDS) for item in general["backends"].elements()),
        upstream=fields.git_url(general["upstream"]) if "upstream" in general else None,
        source=fields.git_url(general["source"]) if "source" in general else None,
        repo_id=fields.hub_repository(hub["repo-id"]) if "repo-id" in hub else None,
        branch=fields.branch(hub["branch"]) if "branch" in hub else None,
        python_depends=_strings(general, "python-depends"),
        torch=torch,
        pyext=fields.suffixes(frame),
        kernels=kernels,
        warnings=_edition_warning(root, edition),
        kernel_depends=_kernel_depends(general),
        tvm_ffi=framework == "tvm-ffi",
        noarch_archs=noarch_archs,
    )
    fields.require_harmless(root)
    return manifest


def _framework(root: Node, edition: int) -> str:
    found = [name for name in FRAMEWORKS if name in root.entries]
    if not found and edition == OLDEST:
        return "torch-noarch"
    if len(found) != 1:
        what = f"has {in_words([f'[{name}]' for name in found])}" if found else "has no framework table"
        fix = "Keep exactly one of [torch], [torch-noarch] (no compiled code) and [tvm-ffi]."
        raise root.error(f"the file {what}", fix)
    return found[0]


def _frame_keys(root: Node, framework: str) -> Mapping[str, Node]:
    if (node := root.entries.get(framework)) is None:
        return {}
    if framework == "torch":
        return node.mapping(names.TORCH)
    if framework == "torch-noarch":
        keys = node.mapping(names.NOARCH)
        _strings(keys, "cuda_capabilities")
        return keys
    keys = node.mapping(names.TVM_FFI, ("src",))
    for name in ("src", "include", "cxx-flags"):
        _strings(keys, name)
    return keys


def _general(node: Node, edition: int) -> Mapping[str, Node]:
    if edition == CURRENT:
        known = (*names.GENERAL, "edition", "kernel-depends", *names.GENERAL_TABLES)
    else:
        known = (*names.GENERAL, *(name for name in names.GENERAL_TABLES if name != "tpu"))
    required = ("name", "license", "backends") if edition == OLDEST else ("name", "version", "license", "backends")
    keys = node.mapping(known, required)
    for name, inside in names.GENERAL_TABLES.items():
        if name in keys:
            allowed = inside if edition == CURRENT else tuple(key for key in inside if key != "kernel-depends")
            _backend_table(keys[name].mapping(allowed))
    return keys


def _backend_table(keys: Mapping[str, Node]) -> None:
    fields.optional_version(keys, "minver")
    fields.optional_version(keys, "maxver")
    _strings(keys, "python-depends")
    _kernel_depends(keys)


def _kernel_depends(keys: Mapping[str, Node]) -> tuple[KernelDependency, ...]:
    if "kernel-depends" not in keys:
        return ()
    return tuple(_kernel_dependency(item) for item in keys["kernel-depends"].elements())


def _kernel_dependency(node: Node) -> KernelDependency:
    keys = node.mapping(("repo-id", "version", "revision"), ("repo-id",))
    if ("version" in keys) == ("revision" in keys):
        raise node.error("needs either version or revision", "Keep exactly one of them.")
    return KernelDependency(
        repo_id=keys["repo-id"].string(),
        version=keys["version"].integer(lowest=0) if "version" in keys else None,
        revision=keys["revision"].string() if "revision" in keys else None,
    )


def _torch(keys: Mapping[str, Node], edition: int) -> TorchSection:
    minver, maxver = fields.version_range(keys)
    return TorchSection(
        src=fields.source_paths(keys["src"]) if "src" in keys else (),
        include=fields.include_paths(keys),
        pyext=fields.suffixes(keys),
        cxx_flags=fields.flags(keys, "cxx-flags"),
        stable_abi=_stable_abi(keys["stable-abi"], edition) if "stable-abi" in keys else None,
        minver=minver,
        maxver=maxver,
    )


def _stable_abi(node: Node, edition: int) -> str | None:
    if node.kind is not Kind.MAPPING:
        return fields.version(node)
    if edition != CURRENT:
        fix = f"Add general.edition = {CURRENT}, or write one version for all backends."
        raise node.error("a table of backends is an edition-5 feature, and the file names no edition", fix)
    levels = {backend: fields.version(level) for backend, level in node.mapping(names.BACKENDS).items()}
    return levels.get("rocm")


def _kernels(node: Node) -> tuple[KernelSection, ...]:
    return tuple(_kernel(name, section) for name, section in node.table().items())


def _kernel(name: str, node: Node) -> KernelSection:
    if "backend" not in node.table():
        raise node.error("lacks backend", f"Add it; one of {', '.join(names.KERNEL_EXTRA)}.")
    backend = node.entries["backend"].choice(tuple(names.KERNEL_EXTRA))
    keys = node.mapping((*names.KERNEL, *names.KERNEL_EXTRA[backend]), ("depends", "src"))
    depends = tuple(item.choice(names.DEPENDS) for item in keys["depends"].elements())
    if backend != "rocm":
        return _foreign_kernel(name, backend, depends, keys)
    return KernelSection(
        id=fields.section_id(node, name),
        backend=backend,
        src=fields.source_paths(keys["src"]),
        include=fields.include_paths(keys),
        depends=depends,
        cxx_flags=fields.flags(keys, "cxx-flags"),
        hip_flags=fields.flags(keys, "hip-flags"),
        rocm_archs=fields.archs(keys, "rocm-archs"),
    )


def _foreign_kernel(name: str, backend: str, depends: tuple[str, ...], keys: Mapping[str, Node]) -> KernelSection:
    """Read a section that rocmatrix does not build: types are checked, nothing more."""
    fields.optional_version(keys, "cuda-minver")
    for other in ("cuda-flags", "sycl-flags"):
        _strings(keys, other)
    return KernelSection(
        id=name,
        backend=backend,
        src=keys["src"].strings(),
        include=keys["include"].strings() if "include" in keys else None,
        depends=depends,
        cxx_flags=_strings(keys, "cxx-flags"),
        hip_flags=(),
        rocm_archs=None,
        cuda_capabilities=_strings(keys, "cuda-capabilities") if "cuda-capabilities" in keys else None,
    )


def _strings(keys: Mapping[str, Node], name: str) -> tuple[str, ...]:
    return keys[name].strings() if name in keys else ()


def _edition_warning(root: Node, edition: int) -> tuple[str, ...]:
    if edition == CURRENT:
        return ()
    if edition == OLDEST:
        return (f"read as edition {OLDEST}, which kernel-builder and the kernels client refuse. {upgrade(root)}",)
    return (f"no general.edition, read as edition {edition}; add edition = {CURRENT}",)
