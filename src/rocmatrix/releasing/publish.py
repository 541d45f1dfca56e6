"""From the output folder to a Hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Notice
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.recipe import Recipe
from rocmatrix.input_file import read_input
from rocmatrix.plan.compat import Compat, load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.model import Plan, PlannedKernel, ToolchainId
from rocmatrix.plan.text import nearest, quote
from rocmatrix.project_listing import read_matrix, require_current_plan
from rocmatrix.release.credentials import Credential
from rocmatrix.release.gates import Allowances
from rocmatrix.release.publication import Wanted
from rocmatrix.release.serving import Pair
from rocmatrix.release.signing import prepare_signing
from rocmatrix.release.stage import Request, prepare, publish
from rocmatrix.releasing.hubs import changing_hub
from rocmatrix.releasing.model import Options, Outcome, Result
from rocmatrix.store import Store
from rocmatrix.toolchain.engines import runs_in_container
from rocmatrix.toolchain.hipcc.toolchain import recipe_digest


def release(options: Options, emit: Emit) -> Result:
    """Publish the kernel that a tag names, from the output folder.

    Raises:
        RocmatrixError: it is refused, or failed; the message says which, and that nothing or everything is there.
    """
    store = Store(options.out)
    with store.exclusive():
        plan = store.read_plan()
        kernel = kernel_of(plan, options.tag)
        opened = changing_hub(options.hub, kernel.repo_id, options.transport, anonymous=options.dry_run)
        with opened as (hub, credential):
            wanted = prepare(request_of(options, plan, kernel, credential), store)
            if options.builds_on_main:
                wanted = _with_builds_on_main(wanted)
            signing = prepare_signing(options.sign, options.trust, teller(emit, kernel))
            if options.dry_run:
                return result_of(wanted, hub.name, credential, commit=None, outcome=Outcome.DRY_RUN)
            released = publish(wanted, hub, store=store, emit=emit, credential=credential.source, signing=signing)
            outcome = Outcome.ALREADY if released.already else Outcome.RELEASED
            return result_of(wanted, hub.name, credential, commit=released.commit, outcome=outcome)


def _with_builds_on_main(wanted: Wanted) -> Wanted:
    """Return a release whose variants go to ``main``, too.

    Raises:
        InputError: it is not one of major version 1, which is what clients without versions take.
    """
    if wanted.release.major != 1 or wanted.release.preliminary:
        raise InputError(
            f"what clients without versions find on `main` is version 1, and {wanted.release.tag} is none of it",
            where="--builds-on-main",
            fix="Leave the option out.",
        )
    return replace(wanted, builds_on_main=True)


def teller(emit: Emit, kernel: PlannedKernel) -> Callable[[str], None]:
    """Return what says a sentence about a kernel."""
    return lambda message: emit(Notice(level="info", message=message, where=kernel.name))


def kernel_of(plan: Plan, tag: str) -> PlannedKernel:
    """Return the kernel that a tag is about: the only one, or the one that it begins with.

    Raises:
        InputError: it names none.
    """
    if len(plan.kernels) == 1:
        return plan.kernels[0]
    named = [kernel for kernel in plan.kernels if tag.startswith(f"{kernel.name}-v")]
    if not named:
        names = ", ".join(f"{kernel.name}-v{kernel.version}.Y.Z" for kernel in plan.kernels)
        raise InputError(f"{quote(tag)} names no kernel of this matrix", where="--tag", fix=f"Tags are {names}.")
    return max(named, key=lambda kernel: len(kernel.name))


def request_of(options: Options, plan: Plan, kernel: PlannedKernel, credential: Credential) -> Request:
    """Return what the stage is asked, from matrix.yaml and build.toml as they are now.

    Raises:
        InputError: among others, the plan is not the one that they ask for.
    """
    require_current_plan(plan, options.matrix, where=str(Store(options.out).plan_path))
    matrix = read_matrix(options.matrix)
    root = options.matrix.absolute().parent
    project = root / kernel.path
    images, compat = _images(plan, kernel, root), load_compat()
    manifest_path = project / "build.toml"
    return Request(
        tag=options.tag,
        kernel=kernel,
        manifest=parse_manifest(read_input(manifest_path), str(manifest_path)),
        project=project,
        plan=plan,
        compat=compat,
        allowances=Allowances(
            toolchains=frozenset(matrix.allow_toolchains),
            untested=options.untested,
            host_builds=matrix.allow_host_builds,
            drop=_pairs(options.drop, compat),
        ),
        credential=credential.source,
        images=tuple(images.values()),
        recipe_digests={
            unit.variant: recipe_digest(images[unit.toolchain].digest)
            for unit in plan.units
            if unit.kernel == kernel.name and unit.toolchain in images
        },
    )


def _pairs(named: Sequence[str], compat: Compat) -> frozenset[str]:
    """Return the users that may be dropped.

    Raises:
        InputError: one is no pair of torch and ROCm that exists, so that it would let nothing pass.
    """
    known = [str(Pair(torch=row.torch, rocm=rocm)) for row in compat.pairs for rocm in row.rocm]
    for name in named:
        if name not in known:
            near = nearest(name, known)
            fix = f"Did you mean {near}?" if near else "Write torchX.Y-rocmX.Y, as the refusal that asks for it does."
            raise InputError(f"{quote(name)} is no pair of torch and ROCm that is known", where="--drop", fix=fix)
    return frozenset(named)


def _images(plan: Plan, kernel: PlannedKernel, root: Path) -> dict[ToolchainId, Recipe]:
    """Return the recipes of the images that the kernel's units are built in."""
    used = {unit.toolchain for unit in plan.units if unit.kernel == kernel.name}
    specs = [spec for spec in plan.toolchains if spec.id in used and runs_in_container(spec)]
    return {spec.id: load_recipe(spec.recipe, spec.args, rocm=spec.rocm, root=root) for spec in specs}


def result_of(wanted: Wanted, endpoint: str, credential: Credential, *, commit: str | None, outcome: Outcome) -> Result:
    """Return what a release came to."""
    content = wanted.expectations.content
    return Result(
        kernel=content.kernel.name,
        repository=content.kernel.repo_id,
        hub=endpoint,
        tag=wanted.release.tag,
        commit=commit,
        outcome=outcome,
        variants=content.variants,
        size=content.size,
        credential=credential.source,
    )
