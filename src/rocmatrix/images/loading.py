"""From the name of a recipe and its arguments to the recipe: ours, or a folder of a user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.images.context import read_context
from rocmatrix.images.pins import Base, PinSet, named_base
from rocmatrix.images.recipe import BASE_ARGUMENT, ExpectedFinding, Recipe, Tools
from rocmatrix.images.recipe_file import PINS_FILE, ImageEntry, PinsFile, read_pins_file, read_recipe_file
from rocmatrix.plan.matrix_model import SHIPPED

OWN_PINS = "containers"
"""Folder beside matrix.yaml whose ``<recipe>/pins.toml`` counts instead of the one that rocmatrix came with."""

_UNSAFE = re.compile(r"[^a-z0-9_.-]+")


def recipe_folder(recipe: str, root: Path) -> Path:
    """Return the folder of a recipe; raises ``InputError`` if there is no such recipe."""
    if recipe in SHIPPED:
        return _shipped() / recipe
    if not recipe.startswith("./"):
        fix = f"There are {', '.join(SHIPPED)}; a recipe of your own is written as a path, ./toolchains/mine."
        raise InputError(f"there is no container recipe {recipe!r}", fix=fix)
    folder = root / recipe
    if not folder.is_dir():
        fix = "Write the path from the folder of matrix.yaml; docs/containers.md shows what a recipe has."
        raise InputError(f"the recipe {recipe} is not a folder", where=str(folder), fix=fix)
    return folder


def load_recipe(recipe: str, args: Mapping[str, str], *, rocm: str | None, root: Path) -> Recipe:
    """Return the one image of a recipe that the arguments choose.

    Args:
        recipe: a name of ``SHIPPED``, or ``./path`` below ``root``.
        args: build arguments as matrix.yaml gives them; ``BASE`` names another base image.
        rocm: the ROCm minor that units want, as ``torch.version.hip`` says it; ``None`` for any.
        root: folder of matrix.yaml.

    Raises:
        InputError: no such recipe, its files are wrong, or the arguments choose none of its images or more than one.
    """
    folder = recipe_folder(recipe, root)
    file = read_recipe_file(folder)
    entry = _chosen(file.images, {name: value for name, value in args.items() if name != BASE_ARGUMENT}, rocm, recipe)
    pins = pins_path(recipe, root)
    known = read_pins_file(pins) if pins.exists() else PinsFile(schema=1)
    sets = tuple(_pin_set(known, name, pins) for name in entry.pins)
    base = named_base(args[BASE_ARGUMENT]) if BASE_ARGUMENT in args else _base(known, entry.base, pins)
    return Recipe(
        name=_UNSAFE.sub("-", folder.name.lower()).strip("-.") or "local",
        folder=folder,
        args=dict(entry.args),
        hip=entry.hip,
        compiler=file.compiler,
        base=base,
        overridden=BASE_ARGUMENT in args,
        releasable=file.releasable,
        tools=Tools(
            hipcc=entry.tools.hipcc, clang=entry.tools.clang, ninja=entry.tools.ninja, python=entry.tools.python
        ),
        environment=dict(entry.environment),
        expected_findings=tuple(
            ExpectedFinding(rule=one.rule, match=one.match, reason=one.reason) for one in entry.expected_findings
        ),
        build_bytes=int(entry.build_gigabytes * 1e9),
        pins=sets,
        context=read_context(folder, sets),
    )


def every_recipe(recipe: str, root: Path, base: str | None = None) -> tuple[Recipe, ...]:
    """Return all images of a recipe, in the order of recipe.toml; raises ``InputError`` as ``load_recipe`` does."""
    named = {BASE_ARGUMENT: base} if base else {}
    images = read_recipe_file(recipe_folder(recipe, root)).images
    return tuple(load_recipe(recipe, {**one.args, **named}, rocm=None, root=root) for one in images)


def pins_path(recipe: str, root: Path) -> Path:
    """Return the pins.toml that counts: the one beside matrix.yaml for a recipe of ours, if it is there."""
    own = own_pins_path(recipe, root)
    return own if own.exists() else recipe_folder(recipe, root) / PINS_FILE


def own_pins_path(recipe: str, root: Path) -> Path:
    """Return where a user keeps pins of a recipe: beside matrix.yaml for one of ours, else in the recipe's folder."""
    return (root / OWN_PINS / recipe if recipe in SHIPPED else recipe_folder(recipe, root)) / PINS_FILE


def _shipped() -> Path:
    """Return where the recipes that come with rocmatrix are: in the installed package, or in a checkout."""
    package = Path(str(resources.files("rocmatrix")))
    installed = package / "containers"
    return installed if installed.is_dir() else package.parents[1] / "containers"


def _chosen(images: Iterable[ImageEntry], args: Mapping[str, str], rocm: str | None, recipe: str) -> ImageEntry:
    """Return the image that has these arguments and builds for this ROCm: the last one, as later ones are newer.

    Images that build for any ROCm are not versions of one another, so arguments have to say which is meant.
    """
    all_images = tuple(images)
    of_args = [one for one in all_images if args.items() <= one.args.items()]
    choices = "; ".join(_words(one.args) for one in all_images)
    if not of_args:
        fix = f"Choose one of: {choices}."
        raise InputError(f"the recipe {recipe} has no image for {_words(args)}", where=recipe, fix=fix)
    of_rocm = [one for one in of_args if rocm is None or not one.hip or rocm in one.hip]
    if not of_rocm:
        minors = ", ".join(dict.fromkeys(minor for one in of_args for minor in one.hip))
        what = f"the recipe {recipe} with {_words(args)} builds for ROCm {minors}, and not for {rocm}"
        raise InputError(what, where=recipe, fix=f"Its images are: {choices}. Choose by args, or another recipe.")
    by_rocm = rocm is not None and all(one.hip for one in of_rocm)
    if len(of_rocm) > 1 and not by_rocm:
        what = f"the recipe {recipe} with {_words(args)} could be any of {len(of_rocm)} images"
        raise InputError(what, where=recipe, fix=f"Say which by args: {choices}.")
    return of_rocm[-1]


def _words(args: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(args.items())) or "no arguments"


def _base(pins: PinsFile, name: str, path: Path) -> Base:
    found = pins.base(name)
    if found is None:
        _require_file(path)
        raise InputError(f"there is no base {name!r}", where=str(path), fix="Add it to [[bases]], or name another.")
    return found


def _pin_set(pins: PinsFile, name: str, path: Path) -> PinSet:
    found = pins.pin_set(name)
    if found is None:
        _require_file(path)
        raise InputError(f"there is no set {name!r}", where=str(path), fix="Add it to [[sets]], or name another.")
    return found


def _require_file(pins: Path) -> None:
    """Refuse a recipe that needs a pins.toml and has none; one that names neither sets nor bases needs none."""
    if not pins.exists():
        fix = "Write it, with the bases and sets that recipe.toml names; docs/containers.md shows what belongs into it."
        raise InputError(f"there is no {pins.name}", where=str(pins.parent), fix=fix)
