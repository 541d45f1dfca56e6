"""The plan: every promise with what became of it, and the fewest builds that keep all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rocmatrix.errors import InputError
from rocmatrix.plan.audit_renewal import require_variants
from rocmatrix.plan.axes import require_cells_of_images, require_every_value_served, require_known_archs
from rocmatrix.plan.compat import Compat
from rocmatrix.plan.kernel_facts import KernelFacts, facts_of, warnings_of
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.matrix_model import Matrix
from rocmatrix.plan.model import Cell, CellId, CellState, Plan, PlannedKernel, ReasonCode, ToolchainSpec, Unit, UnitId
from rocmatrix.plan.promises import Promise, promises_of
from rocmatrix.plan.serving import Refused, Served, serve
from rocmatrix.plan.toolchains import require_used, toolchain_specs
from rocmatrix.plan.variants import variant_name


def make_plan(
    matrix: Matrix, manifests: Mapping[str, Manifest], compat: Compat, *, toolchain: str | None = None
) -> Plan:
    """Return the plan of a matrix. The order of the axes and kernels in the file does not matter.

    Args:
        matrix: what the author promises.
        manifests: the build.toml of each kernel, keyed by the path of its entry in the matrix.
        compat: what exists outside.
        toolchain: recipe or ``./path`` from the command line, instead of those of the matrix.

    Raises:
        InputError: the matrix names something that does not exist, contradicts itself, promises explicitly what must
            be refused, or has an axis value that is left without any served cell.
    """
    require_known_archs(matrix, compat)
    kernels = {manifests[entry.path].name: facts_of(entry, manifests[entry.path], matrix) for entry in matrix.kernels}
    promises = promises_of(matrix, manifests)
    require_used(matrix, {promise.rocm for promise in promises})
    require_cells_of_images(matrix, ((promise.torch, promise.rocm) for promise in promises))
    drafts = _Drafts(where=matrix.where)
    cells = [_cell(promise, kernels[promise.kernel], compat, drafts) for promise in promises]
    require_every_value_served(matrix, cells)
    for entry in matrix.kernels:
        name = manifests[entry.path].name
        require_variants(entry.audit, name, (one.variant for one in drafts.found.values() if one.facts.name == name))
    specs = toolchain_specs(matrix, {draft.rocm for draft in drafts.found.values() if draft.rocm}, toolchain)
    return Plan(
        kernels=tuple(sorted(_planned(matrix, manifests), key=lambda kernel: kernel.name)),
        toolchains=tuple(specs.values()),
        cells=tuple(cells),
        units=tuple(draft.unit(specs) for draft in drafts.found.values()),
        warnings=tuple(_warnings(matrix, manifests, kernels, compat)),
    )


@dataclass(kw_only=True)
class _Draft:
    """A unit while its cells are being found."""

    id: UnitId
    facts: KernelFacts
    variant: str
    torch: str | None
    rocm: str | None
    archs: set[str] = field(default_factory=set)
    serves: list[CellId] = field(default_factory=list)

    def unit(self, specs: Mapping[str, ToolchainSpec]) -> Unit:
        return Unit(
            id=self.id,
            kernel=self.facts.name,
            variant=self.variant,
            abi=self.facts.abi,
            torch=self.torch,
            rocm=self.rocm,
            toolchain=specs[self.rocm].id if self.rocm else None,
            archs=tuple(sorted(self.archs)) if self.rocm else (),
            serves=tuple(self.serves),
        )


@dataclass(kw_only=True)
class _Drafts:
    """The units found so far, in the order of their first cells; ``where`` is the matrix, for messages."""

    where: str
    found: dict[UnitId, _Draft] = field(default_factory=dict)

    def of(self, cell: Served, facts: KernelFacts) -> _Draft:
        """Return the unit that a cell belongs to, the same one for all cells that share it.

        Raises:
            InputError: other versions have the same variant name, since names have no dots (7.14 and 71.4).
        """
        variant = variant_name(facts.abi, torch=cell.torch, rocm=cell.rocm)
        unit_id = UnitId(f"{facts.name}.{variant}")
        made = _Draft(id=unit_id, facts=facts, variant=variant, torch=cell.torch, rocm=cell.rocm)
        draft = self.found.setdefault(unit_id, made)
        if (draft.torch, draft.rocm) != (cell.torch, cell.rocm):
            first, second = (f"torch {one.torch} x ROCm {one.rocm}" for one in (draft, cell))
            what = f"{first} and {second} are one variant, {variant}, which cannot have two toolchains"
            raise InputError(what, where=self.where, fix="Remove one of them.")
        return draft


def _cell(promise: Promise, facts: KernelFacts, compat: Compat, drafts: _Drafts) -> Cell:
    cell_id = CellId(f"{promise.kernel}.torch{promise.torch}-rocm{promise.rocm}")
    found = serve(promise, facts, compat)
    if isinstance(found, Refused):
        if promise.named_at is not None:
            fix = "Remove the entry, name another combination, or limit it with kernel."
            raise InputError(f"{cell_id} is included but cannot be: {found.reason}", where=promise.named_at, fix=fix)
        excluded = found.code is ReasonCode.EXCLUDED
        return Cell(
            id=cell_id,
            kernel=promise.kernel,
            torch=promise.torch,
            rocm=promise.rocm,
            archs=promise.archs,
            state=CellState.EXCLUDED if excluded else CellState.REFUSED,
            reason_code=found.code,
            reason=found.reason,
            evidence=found.evidence,
        )
    draft = drafts.of(found, facts)
    draft.archs.update(found.archs)
    draft.serves.append(cell_id)
    return Cell(
        id=cell_id,
        kernel=promise.kernel,
        torch=promise.torch,
        rocm=promise.rocm,
        archs=found.archs,
        state=CellState.SERVED,
        unit=draft.id,
        reason=found.reason,
        evidence=found.evidence,
    )


def _planned(matrix: Matrix, manifests: Mapping[str, Manifest]) -> Iterable[PlannedKernel]:
    for entry in matrix.kernels:
        manifest = manifests[entry.path]
        repo_id = entry.repo_id or manifest.repo_id
        if repo_id is None:
            what = f"the kernel {manifest.name} has no repository on the Hub"
            fix = "Add repo-id: <owner>/<name> to its entry, or general.hub.repo-id to its build.toml."
            raise InputError(what, where=entry.where, fix=fix)
        yield PlannedKernel(
            name=manifest.name, path=entry.path, repo_id=repo_id, version=manifest.version, audit=entry.audit
        )


def _warnings(
    matrix: Matrix, manifests: Mapping[str, Manifest], kernels: Mapping[str, KernelFacts], compat: Compat
) -> list[str]:
    warnings = []
    for entry in sorted(matrix.kernels, key=lambda entry: manifests[entry.path].name):
        manifest = manifests[entry.path]
        promised = frozenset(entry.archs or matrix.archs)
        warnings.extend(warnings_of(kernels[manifest.name], manifest, promised, compat))
    return warnings
