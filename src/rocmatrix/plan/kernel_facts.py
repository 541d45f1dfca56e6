"""What matrix.yaml and build.toml together say of one kernel: how it is built and for which gfx archs."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import Compat
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.matrix_model import AbiChoice, KernelEntry, Matrix
from rocmatrix.plan.model import Abi
from rocmatrix.plan.text import in_words, quote


@dataclass(frozen=True, kw_only=True)
class KernelFacts:
    """What decides which units a kernel gets.

    Attributes:
        abi: what its units are bound to.
        level: level of torch's stable ABI; ``None`` unless ``abi`` is stable.
        minver: lowest torch that may be served; ``None`` if unbounded.
        maxver: highest torch that may be served; ``None`` if unbounded.
        archs: gfx archs that every ROCm section has; ``None`` if build.toml leaves it to the matrix.
        partial: gfx archs that only some ROCm sections have.
        objection: why the kernel cannot be built for ROCm at all; ``None`` if it can.
        where: its build.toml.
    """

    name: str
    abi: Abi
    level: str | None
    minver: str | None
    maxver: str | None
    archs: frozenset[str] | None
    partial: frozenset[str]
    objection: str | None
    where: str


def facts_of(entry: KernelEntry, manifest: Manifest, matrix: Matrix) -> KernelFacts:
    """Return what is to be known of one kernel.

    Raises:
        InputError: the kernel cannot be built as matrix.yaml asks.
    """
    where = "build.toml" if entry.path == "." else f"{entry.path}/build.toml"
    if manifest.tvm_ffi:
        what = f"the kernel {manifest.name} is a [tvm-ffi] project, which rocmatrix does not build"
        raise InputError(what, where=entry.where, fix="Remove it from kernels, or bind it to torch.")
    abi = _abi(entry, manifest, matrix)
    sections = [None if kernel.rocm_archs is None else frozenset(kernel.rocm_archs) for kernel in manifest.rocm_kernels]
    if abi is Abi.NOARCH:
        sections = [None if manifest.noarch_archs is None else frozenset(manifest.noarch_archs)]
    bounded = [archs for archs in sections if archs is not None]
    common = frozenset.intersection(*bounded) if bounded else None
    torch = manifest.torch
    return KernelFacts(
        name=manifest.name,
        abi=abi,
        level=torch.stable_abi if torch and abi is Abi.STABLE else None,
        minver=torch.minver if torch else None,
        maxver=torch.maxver if torch else None,
        archs=common,
        partial=frozenset.union(*bounded) - common if common is not None else frozenset(),
        objection=_objection(manifest, abi),
        where=where,
    )


def warnings_of(facts: KernelFacts, manifest: Manifest, promised: frozenset[str], compat: Compat) -> list[str]:
    """Return what the author should know of a kernel although it stops nothing."""
    named = {arch for kernel in manifest.rocm_kernels for arch in kernel.rocm_archs or ()}
    named.update(manifest.noarch_archs or ())
    warnings = [f"{facts.where}: {warning}" for warning in manifest.warnings]
    if retired := sorted(arch for arch in named if compat.replacement(arch)):
        instead = in_words(sorted({compat.replacement(arch) or "" for arch in retired}))
        warnings.append(f"{facts.where}: {in_words(retired)}: withdrawn by AMD, replaced by {instead}")
    if unknown := sorted(arch for arch in named if not compat.arch(arch) and not compat.replacement(arch)):
        warnings.append(f"{facts.where}: ROCm is not known to target {in_words([quote(arch) for arch in unknown])}")
    if left_out := sorted(facts.partial & promised):
        warnings.append(
            f"{facts.where}: {in_words(left_out)} left out, since not every ROCm section lists them in rocm-archs"
        )
    if missing := sorted(promised - facts.archs - facts.partial) if facts.archs is not None else []:
        warnings.append(f"{facts.where}: {in_words(missing)} promised by matrix.yaml but not in rocm-archs")
    return warnings


def _abi(entry: KernelEntry, manifest: Manifest, matrix: Matrix) -> Abi:
    choice = entry.abi or matrix.abi
    if manifest.torch is None:
        if entry.abi in {AbiChoice.STABLE, AbiChoice.PER_TORCH}:
            what = f"abi: {choice} for {manifest.name}, which has no compiled code ([torch-noarch])"
            raise InputError(what, where=entry.where, fix="Remove abi from this kernel.")
        return Abi.NOARCH
    if choice is AbiChoice.PER_TORCH:
        return Abi.PER_TORCH
    if manifest.torch.stable_abi is not None:
        return Abi.STABLE
    if choice is AbiChoice.STABLE:
        what = f"abi: stable for {manifest.name}, whose build.toml has no torch.stable-abi for ROCm"
        raise InputError(what, where=entry.where, fix='Add e.g. torch.stable-abi = "2.10", or use abi: auto.')
    return Abi.PER_TORCH


def _objection(manifest: Manifest, abi: Abi) -> str | None:
    if "rocm" not in manifest.backends:
        has = in_words(manifest.backends) or "none"
        return f"{manifest.name} does not have rocm among its backends; it has {has}"
    if abi is not Abi.NOARCH and not manifest.rocm_kernels:
        return f"{manifest.name} has no [kernel.*] section whose backend is rocm"
    return None
