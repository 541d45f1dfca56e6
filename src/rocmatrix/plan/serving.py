"""The serving rules: what a promise becomes, as a pure function of the kernel and of what exists outside.

A noarch unit serves every cell; a stable-ABI unit serves torch from its level on, of the same ROCm only, because the
``kernels`` client (0.17.2) compares ROCm variants as strings; a per-torch unit serves one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocmatrix.plan.compat import Compat
from rocmatrix.plan.kernel_facts import KernelFacts
from rocmatrix.plan.model import Abi, Evidence, ReasonCode
from rocmatrix.plan.promises import Promise
from rocmatrix.plan.text import in_words
from rocmatrix.plan.version import minor_key


@dataclass(frozen=True, kw_only=True)
class Served:
    """A promise that a unit keeps: the archs it can have, what names the unit, and why this unit."""

    archs: tuple[str, ...]
    torch: str | None
    rocm: str | None
    reason: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A promise that no unit keeps, and why."""

    code: ReasonCode
    reason: str
    evidence: Evidence


def serve(promise: Promise, kernel: KernelFacts, compat: Compat) -> Served | Refused:
    """Return which unit keeps a promise, or why none does; the first reason that applies is given."""
    torch, rocm = promise.torch, promise.rocm
    pair = compat.pair(torch, rocm)
    evidence = pair.evidence if pair else Evidence.UNVERIFIED
    if promise.excluded is not None:
        return Refused(code=ReasonCode.EXCLUDED, reason=promise.excluded, evidence=evidence)
    if kernel.objection is not None:
        return Refused(code=ReasonCode.BACKEND_MISSING, reason=kernel.objection, evidence=evidence)
    if pair is None:
        return Refused(code=ReasonCode.PAIR_UNKNOWN, reason=_no_pair(torch, rocm, compat), evidence=evidence)
    if reason := _out_of_bounds(torch, kernel):
        return Refused(code=ReasonCode.OUTSIDE_TORCH_BOUNDS, reason=reason, evidence=evidence)
    if kernel.level is not None and minor_key(torch) < minor_key(kernel.level):
        reason = (
            f"torch {torch} is older than {kernel.level}, the stable ABI level of {kernel.name}; "
            f"torch {kernel.level} and later are served, or build it with abi: per-torch"
        )
        return Refused(code=ReasonCode.BELOW_ABI_LEVEL, reason=reason, evidence=evidence)
    return _with_archs(promise, kernel, compat, evidence)


def _with_archs(promise: Promise, kernel: KernelFacts, compat: Compat, evidence: Evidence) -> Served | Refused:
    built = [arch for arch in promise.archs if kernel.archs is None or arch in kernel.archs]
    if not built:
        lists = in_words(sorted(kernel.archs or ())) or "none that all its ROCm sections have"
        reason = f"{kernel.where} lists none of {in_words(promise.archs, 'or')}; it lists {lists}"
        return Refused(code=ReasonCode.ARCH_NOT_IN_MANIFEST, reason=reason, evidence=evidence)
    archs = tuple(arch for arch in built if compat.arch_supported(promise.rocm, arch))
    if not archs:
        reason = f"ROCm {promise.rocm} cannot target {_since(built, compat)}"
        return Refused(code=ReasonCode.ARCH_UNSUPPORTED, reason=reason, evidence=evidence)
    dropped = [arch for arch in built if arch not in archs]
    partly = f"; without {_since(dropped, compat)}" if dropped else ""
    return Served(
        archs=archs,
        torch={Abi.STABLE: kernel.level, Abi.PER_TORCH: promise.torch, Abi.NOARCH: None}[kernel.abi],
        rocm=None if kernel.abi is Abi.NOARCH else promise.rocm,
        reason=_why(promise, kernel) + partly,
        evidence=evidence,
    )


def _why(promise: Promise, kernel: KernelFacts) -> str:
    if kernel.abi is Abi.NOARCH:
        return f"{kernel.name} has no compiled code: one unit serves every torch and ROCm"
    if kernel.abi is Abi.STABLE:
        return f"stable ABI {kernel.level}: one unit serves torch {kernel.level} and later on ROCm {promise.rocm}"
    return f"built against torch {promise.torch} itself: a unit of its own for ROCm {promise.rocm}"


def _no_pair(torch: str, rocm: str, compat: Compat) -> str:
    head = f"no torch {torch} is known for ROCm {rocm}"
    if hip := compat.hip_name(rocm):
        return f"{head}: ROCm {rocm} calls itself {hip} in torch.version.hip, so write {hip}"
    has, exists = compat.rocm_of(torch), compat.torch_of(rocm)
    if not has and not exists:
        known = compat.torches
        all_known = f"torch {known[0].minor} to {known[-1].minor} are, as of {compat.read}"
        torch_near = _nearest(torch, [row.torch for row in compat.pairs])
        rocm_near = _nearest(rocm, compat.rocm_of(torch_near))
        return f"{head}: neither is known; {all_known}; nearest is torch {torch_near} on ROCm {rocm_near}"
    of_torch = f"torch {torch} exists for ROCm {in_words(has)}" if has else f"torch {torch} is not known at all"
    of_rocm = f"ROCm {rocm} has torch {in_words(exists)}" if exists else f"ROCm {rocm} is not known at all"
    near = (torch, _nearest(rocm, has)) if has else (_nearest(torch, exists), rocm)
    return f"{head}: {of_torch}; {of_rocm}; nearest is torch {near[0]} on ROCm {near[1]}"


def _nearest(version: str, known: Sequence[str]) -> str:
    """Return the highest known version up to this one, or else the lowest."""
    below = [one for one in known if minor_key(one) <= minor_key(version)]
    return max(below, key=minor_key) if below else min(known, key=minor_key)


def _out_of_bounds(torch: str, kernel: KernelFacts) -> str | None:
    if kernel.minver is not None and minor_key(torch) < minor_key(kernel.minver):
        return f"torch {torch} is below torch.minver of {kernel.where}; torch {kernel.minver} and later are served"
    if kernel.maxver is not None and minor_key(torch) > minor_key(kernel.maxver):
        return f"torch {torch} is above torch.maxver of {kernel.where}; torch up to {kernel.maxver} is served"
    return None


def _since(archs: list[str], compat: Compat) -> str:
    words = []
    for arch in archs:
        known = compat.arch(arch)
        words.append(f"{arch} (needs ROCm {known.since} or later)" if known and known.since else arch)
    return in_words(words, "or")
