"""Images of recipes and their pins, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from rocmatrix.images.image import Image
from rocmatrix.images.pinning.resolve import Resolved
from rocmatrix.images.recipe import Recipe, unverified_pins

IMAGES_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class ImageRow:
    """One image of a recipe.

    Attributes:
        recipe: name.
        args: arguments that choose it.
        hip: ROCm minors that it builds for; empty for any.
        base: what it begins with.
        recipe_digest: digest of all that decides what is in it.
        releasable: whether what it builds may be published.
        unverified: pins that nobody has resolved.
        reference: its name on an engine.
        id: the engine's id; ``None`` if the engine does not have it.
        size: bytes unpacked.
        built: whether this command built it.
        pushed: ``repository@sha256:…``, where this command pushed it.
    """

    recipe: str
    args: Mapping[str, str]
    hip: tuple[str, ...]
    base: str
    recipe_digest: str
    releasable: bool
    unverified: tuple[str, ...]
    reference: str
    id: str | None
    size: int | None
    built: bool
    pushed: str | None


@dataclass(frozen=True, kw_only=True)
class ImagesDocument:
    """What ``images build``, ``list`` and ``push`` print; ``engine`` says why no engine could be asked."""

    images: tuple[ImageRow, ...]
    engine: str | None = None
    schema: int = IMAGES_SCHEMA


@dataclass(frozen=True, kw_only=True)
class PinsDocument:
    """What ``images pin`` prints: by recipe what came of each pin, and the file that was written, if any."""

    recipes: Mapping[str, tuple[Resolved, ...]]
    files: Mapping[str, str]
    schema: int = IMAGES_SCHEMA


def image_row(recipe: Recipe, image: Image | None, *, built: bool, pushed: str | None) -> ImageRow:
    """Return what is said of an image."""
    return ImageRow(
        recipe=recipe.name,
        args=recipe.args,
        hip=recipe.hip,
        base=recipe.base.pulled,
        recipe_digest=recipe.digest,
        releasable=recipe.releasable,
        unverified=unverified_pins(recipe),
        reference=recipe.reference,
        id=image.id if image else None,
        size=image.size if image else None,
        built=built,
        pushed=pushed,
    )


def show_images(document: ImagesDocument, console: Console) -> None:
    """Print one line for each image, and what stands in the way of a release."""
    table = Table(box=None, pad_edge=False)
    for heading in ("image", "ROCm", "recipe digest", "on this engine", "release"):
        table.add_column(heading, overflow="fold")
    for row in document.images:
        args = " ".join(f"{name}={value}" for name, value in sorted(row.args.items()))
        table.add_row(
            f"{row.recipe} {args}".strip(),
            ", ".join(row.hip) or "any",
            row.reference,
            _state(row, document),
            _release(row),
        )
    console.print(table)
    for row in document.images:
        if row.pushed:
            console.print(f"pushed {row.pushed}", soft_wrap=True)
    if document.engine:
        console.print(f"no engine was asked: {document.engine}")


def show_pins(document: PinsDocument, console: Console) -> None:
    """Print one line for each pin, and where they are now."""
    for recipe, outcomes in document.recipes.items():
        for one in outcomes:
            detail = f": {one.detail}" if one.detail else ""
            console.print(f"{recipe} {one.name}: {one.outcome}{detail}", soft_wrap=True)
        place = document.files.get(recipe)
        written = f"written to {place}" if place else "nothing was resolved, and nothing was written"
        console.print(f"{recipe}: {written}", soft_wrap=True)


def _state(row: ImageRow, document: ImagesDocument) -> str:
    if document.engine:
        return "unknown"
    if row.id is None or row.size is None:
        return "not built"
    return f"{'built' if row.built else 'there'}, {row.size / 1e9:.2f} GB"


def _release(row: ImageRow) -> str:
    if not row.releasable:
        return "never (conformance)"
    return f"after `images pin`: {', '.join(row.unverified)}" if row.unverified else "yes"
