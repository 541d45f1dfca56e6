"""Cells, units and plans: the words that every other part of rocmatrix uses.

A *cell* is one promise to users: kernel x torch minor x ROCm minor. A *unit* is one build: kernel x variant. A *plan*
says for each cell which unit serves it, or why none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType, TypeVar

from rocmatrix.plan.audit_choice import AuditChoice

PLAN_SCHEMA = 1

T = TypeVar("T")

CellId = NewType("CellId", str)
"""``<kernel>.torch<minor>-rocm<minor>``, e.g. ``gemm.torch2.13-rocm7.2``."""

UnitId = NewType("UnitId", str)
"""``<kernel>.<variant>``, e.g. ``gemm.torch-stable-abi210-rocm72-x86_64-linux``; safe as a path and as a label."""

ToolchainId = NewType("ToolchainId", str)
"""``<recipe>-rocm<minor>``, e.g. ``llvm-rocm7.2``; the name of a toolchain within one plan."""


class CellState(StrEnum):
    """How a promise ends."""

    SERVED = "served"
    REFUSED = "refused"
    EXCLUDED = "excluded"


class ReasonCode(StrEnum):
    """Why a cell is not served."""

    PAIR_UNKNOWN = "pair-unknown"
    """PyTorch never published this torch for this ROCm, as far as compat.toml knows."""
    ARCH_UNSUPPORTED = "arch-unsupported"
    """This ROCm cannot target any of the promised gfx archs."""
    ARCH_NOT_IN_MANIFEST = "arch-not-in-manifest"
    """The kernel's build.toml names none of the promised gfx archs."""
    BELOW_ABI_LEVEL = "below-abi-level"
    """The torch is older than the level of the stable-ABI unit."""
    OUTSIDE_TORCH_BOUNDS = "outside-torch-bounds"
    """``torch.minver`` or ``torch.maxver`` in build.toml rules this torch out."""
    BACKEND_MISSING = "backend-missing"
    """The kernel does not have ROCm among its backends."""
    EXCLUDED = "excluded"
    """The author excluded the cell in matrix.yaml."""


class Evidence(StrEnum):
    """Whether somebody has seen the torch x ROCm pair of a cell published."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"


class Abi(StrEnum):
    """What a unit is bound to."""

    STABLE = "stable"
    """torch's stable ABI at a level: serves every torch from that level on."""
    PER_TORCH = "per-torch"
    """One torch minor only."""
    NOARCH = "noarch"
    """No compiled code: serves every cell."""


@dataclass(frozen=True, kw_only=True)
class ToolchainSpec:
    """The compilers and headers for one ROCm, as matrix.yaml or the command line names them.

    Attributes:
        id: its name within the plan.
        recipe: ``llvm``, ``hipcc``, the name of a recipe of ours or a path to a user's own (``./path``).
        rocm: ROCm minor as ``torch.version.hip`` says it, e.g. ``7.2``.
        args: build arguments of the recipe, e.g. ``{"ROCM_VERSION": "7.2.4"}``.
        chosen_by: where the choice was made, for people, e.g. ``matrix.yaml`` or ``--toolchain``.
    """

    id: ToolchainId
    recipe: str
    rocm: str
    args: dict[str, str]
    chosen_by: str


@dataclass(frozen=True, kw_only=True)
class PlannedKernel:
    """A kernel that the plan speaks of.

    Attributes:
        name: ``general.name`` of build.toml, with dashes.
        path: folder of the project relative to the folder of matrix.yaml, with ``/``.
        repo_id: the Hub repository that a release goes to, e.g. ``rocmatrix/gemm``.
        version: major version, the number of the Hub branch ``v<version>``.
        audit: what the author asks of the audit of its units.
    """

    name: str
    path: str
    repo_id: str
    version: int
    audit: AuditChoice = field(default_factory=AuditChoice)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One promise and what became of it.

    Attributes:
        torch: torch minor, e.g. ``2.13``.
        rocm: ROCm minor as ``torch.version.hip`` says it, e.g. ``7.2``.
        archs: gfx archs promised to users of this cell: for a served cell those its unit will contain.
        unit: the unit that serves the cell; ``None`` unless the state is ``served``.
        reason_code: why the cell is not served; ``None`` if it is.
        reason: one sentence for people: why this unit, or why none.
        evidence: whether the pair of torch and ROCm was seen published.
    """

    id: CellId
    kernel: str
    torch: str
    rocm: str
    archs: tuple[str, ...]
    state: CellState
    unit: UnitId | None = None
    reason_code: ReasonCode | None = None
    reason: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One build.

    Attributes:
        variant: the directory ``build/<variant>/`` that the ``kernels`` client loads.
        abi: what the binary is bound to.
        torch: the level of the stable ABI or the torch minor, e.g. ``2.10``; ``None`` for noarch.
        rocm: ROCm minor; ``None`` for noarch.
        toolchain: which toolchain of the plan builds it; ``None`` for noarch.
        archs: gfx archs to compile for, sorted; empty for noarch.
        serves: the cells that users load this unit for, in the plan's order.
    """

    id: UnitId
    kernel: str
    variant: str
    abi: Abi
    torch: str | None
    rocm: str | None
    toolchain: ToolchainId | None
    archs: tuple[str, ...]
    serves: tuple[CellId, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that was promised and the fewest builds that keep it; the content of ``plan.json``.

    Attributes:
        schema: version of this document, ``PLAN_SCHEMA``.
        warnings: what the author should know although it stops nothing, e.g. a retired gfx arch in build.toml.
    """

    schema: int = PLAN_SCHEMA
    kernels: tuple[PlannedKernel, ...]
    toolchains: tuple[ToolchainSpec, ...]
    cells: tuple[Cell, ...]
    units: tuple[Unit, ...]
    warnings: tuple[str, ...] = ()

    def unit(self, unit_id: str) -> Unit:
        """Return the unit of this id; raises ``KeyError`` if the plan has none."""
        return _first((unit for unit in self.units if unit.id == unit_id), unit_id)

    def kernel(self, name: str) -> PlannedKernel:
        """Return the kernel of this name; raises ``KeyError`` if the plan has none."""
        return _first((kernel for kernel in self.kernels if kernel.name == name), name)

    def toolchain(self, toolchain_id: str) -> ToolchainSpec:
        """Return the toolchain of this id; raises ``KeyError`` if the plan has none."""
        return _first((spec for spec in self.toolchains if spec.id == toolchain_id), toolchain_id)


def _first(found: Iterable[T], name: str) -> T:
    for item in found:
        return item
    raise KeyError(name)
