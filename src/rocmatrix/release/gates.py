"""What has to hold before anything is written: pure functions from what is known to what stands in the way."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rocmatrix.digest import Digest
from rocmatrix.errors import ReleaseError
from rocmatrix.images.recipe import Recipe, unverified_pins
from rocmatrix.metadata import Metadata, is_hashed
from rocmatrix.plan.matrix_model import SHIPPED
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.records import Coverage, Isolation, Tested
from rocmatrix.release.content import Content
from rocmatrix.release.trees import BUILD


@dataclass(frozen=True, kw_only=True)
class Allowances:
    """What an author lets pass.

    Attributes:
        toolchains: recipes whose output may be released.
        untested: whether variants that nothing executed may be released; the card names them.
        host_builds: whether builds outside of a container may be.
        drop: cells that earlier users lose, as ``torch2.12-rocm7.1``.
    """

    toolchains: frozenset[str]
    untested: bool = False
    host_builds: bool = False
    drop: frozenset[str] = frozenset()


def require_complete(plan: Plan, coverage: Coverage, content: Content) -> None:
    """Refuse a set that lacks a promised variant, or that has one that nobody planned.

    Raises:
        ReleaseError: it names cells or variants.
    """
    promised = {cell.id for cell in plan.cells if cell.kernel == coverage.kernel and cell.state is CellState.SERVED}
    missing = [f"{cell.cell} ({cell.reason})" for cell in coverage.cells if cell.cell in promised and not cell.variant]
    if missing or not coverage.complete:
        raise ReleaseError(
            f"the set is not complete: nothing serves {_listed(missing)}",
            where=coverage.kernel,
            fix="Run `rocmatrix run` until every promised cell is served, or exclude the cell in matrix.yaml.",
        )
    planned = {unit.variant for unit in plan.units if unit.kernel == coverage.kernel}
    collected = {each.variant for each in coverage.variants}
    if set(content.variants) != planned or collected != planned:
        odd = sorted(set(content.variants) ^ planned | collected ^ planned)
        raise ReleaseError(
            f"what was collected is not what was planned: {_listed(odd)}",
            where=coverage.kernel,
            fix="Run `rocmatrix collect` again with the same --matrix and --out.",
        )


def require_unchanged(content: Content) -> None:
    """Refuse variants whose files are not those that were collected, audited and checked.

    Raises:
        ReleaseError: it names the files.
    """
    odd: list[str] = []
    for variant, metadata in content.metadata.items():
        folder = f"{BUILD}/{variant}/"
        found = {path.removeprefix(folder): file for path, file in content.files.items() if path.startswith(folder)}
        hashed = {path: _base64(file.sha256) for path, file in found.items() if is_hashed(path)}
        wanted = metadata.digest.files
        odd += [
            f"{variant}/{path}"
            for path in sorted(hashed.keys() | wanted.keys())
            if hashed.get(path) != wanted.get(path)
        ]
    if odd:
        raise ReleaseError(
            f"changed since it was collected: {_listed(odd)}",
            where=content.kernel.name,
            fix="Run `rocmatrix run` again: what is released is what was audited and checked.",
        )


def _base64(hexadecimal: str) -> str:
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode("ascii")


def require_allowed(metadata: Mapping[str, Metadata], allowances: Allowances) -> None:
    """Refuse variants whose toolchain, isolation or testing the author does not let pass.

    Raises:
        ReleaseError: it names the variants and what would allow them.
    """
    recipes = {name: each.rocmatrix.toolchain.recipe for name, each in metadata.items() if each.rocmatrix.toolchain}
    wrong = [f"{name} (by {recipe})" for name, recipe in recipes.items() if recipe not in allowances.toolchains]
    if wrong:
        raise ReleaseError(
            f"matrix.yaml does not allow the toolchain of {_listed(wrong)}",
            fix="Build with a toolchain of release.allow-toolchains, or add it there.",
        )
    hosted = [name for name, each in metadata.items() if each.rocmatrix.isolation is not Isolation.CONTAINER]
    if hosted and not allowances.host_builds:
        raise ReleaseError(
            f"not built in a container: {_listed(hosted)}",
            fix="Write `release: {isolation: host}` in matrix.yaml if that is meant; users see it on the card.",
        )
    untested = [name for name, each in metadata.items() if each.rocmatrix.checked.tested is Tested.UNTESTED]
    if untested and not allowances.untested:
        raise ReleaseError(
            f"nothing has executed {_listed(untested)}",
            fix="Run `rocmatrix check`, or say --allow-untested: the card will name them.",
        )


def require_publishable(recipes: Sequence[Recipe]) -> None:
    """Refuse what images of conformance recipes built, and what images with pins that nobody resolved did.

    Raises:
        ReleaseError: it names the recipes, and the pins.
    """
    never = [recipe.label for recipe in recipes if not recipe.releasable]
    if never:
        raise ReleaseError(
            f"conformance recipes, whose output is never published, built for this release: {_listed(never)}",
            fix="Build with almalinux, therock or a recipe of your own; see docs/containers.md.",
        )
    for recipe in recipes:
        if doubtful := unverified_pins(recipe):
            command = f"rocmatrix images pin {recipe.name}" if recipe.name in SHIPPED else "rocmatrix images pin"
            raise ReleaseError(
                f"nobody has resolved pins of {recipe.label}: {_listed(doubtful)}",
                fix=f"Run `{command}` online, then build anew; docs/containers.md says where pins are kept.",
            )


def require_current_recipes(metadata: Mapping[str, Metadata], digests: Mapping[str, Digest]) -> None:
    """Refuse variants that another state of their recipe built than the one whose pins and permission were looked at.

    Args:
        metadata: by variant.
        digests: by variant built in an image: what its toolchain's recipe has as digest now.

    Raises:
        ReleaseError: it names the variants.
    """
    old = [
        name
        for name, wanted in digests.items()
        if name in metadata and (made := metadata[name].rocmatrix.toolchain) and made.recipe_digest != wanted
    ]
    if old:
        raise ReleaseError(
            f"built by another state of their container recipe than it has now: {_listed(old)}",
            fix="Run `rocmatrix run` again: pins and arguments are judged as they are now.",
        )


def _listed(names: Iterable[str]) -> str:
    all_names = list(names)
    more = f" and {len(all_names) - 4} more" if len(all_names) > 4 else ""  # noqa: PLR2004 - a line's worth
    return ", ".join(all_names[:4]) + more
