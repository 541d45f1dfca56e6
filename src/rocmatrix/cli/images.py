"""``rocmatrix images``: build, list, push and pin the images that container recipes describe."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from typing import TYPE_CHECKING

from rocmatrix.cli.options import DEFAULT_MATRIX, UsageError, Verb, named_path
from rocmatrix.errors import ExitCode, InputError, MissingRequirementError

if TYPE_CHECKING:
    from pathlib import Path

    from rocmatrix.images.options import BuildOptions
    from rocmatrix.images.recipe import Recipe
    from rocmatrix.plan.model import ToolchainSpec
    from rocmatrix.report.images_view import ImageRow

ACTIONS = ("build", "list", "push", "pin")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument(
        "action",
        choices=ACTIONS,
        help="build: what the engine lacks; list: all recipes; push: to --registry; pin: resolve versions online",
    )
    parser.add_argument(
        "recipe",
        nargs="*",
        help="almalinux, therock, debian or ./path (default: what matrix.yaml chooses; list: that and all of ours)",
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="choose among a recipe's images; several times"
    )
    parser.add_argument("--base", metavar="IMAGE", help="begin with this image: a mirror, or one that the engine has")
    parser.add_argument(
        "--ca-bundle", type=named_path, metavar="FILE", help="certificates of this site, for the build alone"
    )
    parser.add_argument("--network", metavar="NAME", help="the build's network, e.g. host (default: the engine's)")
    parser.add_argument(
        "--builder",
        choices=("auto", "classic", "buildx"),
        default="auto",
        help="auto: buildx where docker has it, else the engine's classic builder (default: %(default)s)",
    )
    parser.add_argument(
        "--upgrade",
        action="store_true",
        help="pin: move bases to what their tags are now, also where a digest is there",
    )
    parser.add_argument("--cache", metavar="REF", help="a registry's cache that buildx reads and writes")
    parser.add_argument(
        "--registry",
        metavar="HOST/PATH",
        help="where images are pushed, and looked for before one is built (default: ROCMATRIX_IMAGES)",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do it; exit 3 if a pin could not be resolved, or the engine, its disk or its network let no image be made."""
    match arguments.action:
        case "pin":
            return _pin(arguments)
        case "list":
            return _list(arguments)
        case _:
            return _build(arguments, push_too=arguments.action == "push")


def _build(arguments: argparse.Namespace, *, push_too: bool) -> ExitCode:
    """Build what the engine lacks, and push all if that is asked for."""
    from rocmatrix.engine.connection import connect  # noqa: PLC0415 - `--help` needs no engine
    from rocmatrix.images.building import require_resolved  # noqa: PLC0415
    from rocmatrix.images.image import ensure_image, find_image  # noqa: PLC0415
    from rocmatrix.images.registry import push, repository_of  # noqa: PLC0415
    from rocmatrix.report.images_view import image_row  # noqa: PLC0415

    options = _build_options(arguments)
    recipes = _recipes(arguments)
    registry = options.registry if push_too else None
    if push_too and registry is None:
        raise UsageError("push needs --registry HOST/PATH", fix="Name it, or set ROCMATRIX_IMAGES.")
    for recipe in recipes:  # before minutes of building
        require_resolved(recipe)
        if registry:
            repository_of(recipe, registry)
    client = connect()
    rows: list[ImageRow] = []
    for recipe in recipes:
        there = find_image(client, recipe)
        made = there or ensure_image(client, recipe, options)
        pushed = push(client, recipe, made, registry) if registry else None
        rows.append(image_row(recipe, made, built=there is None, pushed=pushed))
    _show(arguments, rows)
    return ExitCode.DONE


def _list(arguments: argparse.Namespace) -> ExitCode:
    """Show all; an engine that does not answer is said, and is no error: the recipes are there all the same."""
    from rocmatrix.engine.connection import connect  # noqa: PLC0415 - `--help` needs no engine
    from rocmatrix.images.image import find_image  # noqa: PLC0415
    from rocmatrix.report.images_view import image_row  # noqa: PLC0415

    recipes = _recipes(arguments)
    silent: str | None = None
    client = None
    try:
        client = connect()
    except MissingRequirementError as err:
        silent = str(err)
    found = [find_image(client, recipe) if client else None for recipe in recipes]
    _show(arguments, [image_row(*pair, built=False, pushed=None) for pair in zip(recipes, found, strict=True)], silent)
    return ExitCode.DONE


def _show(arguments: argparse.Namespace, rows: list[ImageRow], silent: str | None = None) -> None:
    from rocmatrix.report.console import make_console  # noqa: PLC0415 - `--help` shows nothing
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.images_view import ImagesDocument, show_images  # noqa: PLC0415

    document = ImagesDocument(images=tuple(rows), engine=silent)
    if arguments.json:
        write_document(document, sys.stdout)
    show_images(document, make_console(sys.stderr if arguments.json else sys.stdout))


def _pin(arguments: argparse.Namespace) -> ExitCode:
    """Ask for every pin of the recipes and write the answers beside matrix.yaml, or into the folder of a user's own."""
    from rocmatrix import atomic  # noqa: PLC0415 - `--help` asks nothing
    from rocmatrix.images.loading import own_pins_path, pins_path  # noqa: PLC0415
    from rocmatrix.images.pinning.resolve import Asking, Outcome, Resolved, resolve  # noqa: PLC0415
    from rocmatrix.images.pinning.web import Web  # noqa: PLC0415
    from rocmatrix.images.pinning.write import written  # noqa: PLC0415
    from rocmatrix.images.recipe_file import read_pins_file  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.images_view import PinsDocument, show_pins  # noqa: PLC0415

    root = arguments.matrix.absolute().parent
    names = arguments.recipe or list(dict.fromkeys(spec.recipe for spec in _matrix_specs(arguments)))
    console = make_console(sys.stderr)
    asking = Asking(
        web=Web(arguments.ca_bundle),
        today=dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%d"),
        say=lambda where: console.print(f"asking {where}", soft_wrap=True),
        upgrade=arguments.upgrade,
    )
    said: dict[str, tuple[Resolved, ...]] = {}
    files: dict[str, str] = {}
    for name in names:
        source, place = pins_path(name, root), own_pins_path(name, root)
        pins, outcomes = resolve(read_pins_file(source), asking)
        said[name] = outcomes
        if any(one.outcome in (Outcome.CONFIRMED, Outcome.CHANGED) for one in outcomes):
            place.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_file(place, written(pins, source.read_text(encoding="utf-8")).encode())
            files[name] = str(place)
    document = PinsDocument(recipes=said, files=files)
    if arguments.json:
        write_document(document, sys.stdout)
    show_pins(document, make_console(sys.stderr if arguments.json else sys.stdout))
    refused = any(one.outcome is Outcome.REFUSED for outcomes in said.values() for one in outcomes)
    return ExitCode.ENVIRONMENT if refused else ExitCode.DONE


def _recipes(arguments: argparse.Namespace) -> tuple[Recipe, ...]:
    """Return what the command is about: every image of the named recipes that the arguments choose."""
    root = arguments.matrix.absolute().parent
    args = _named_values(arguments.arg)
    found = tuple(recipe for recipe in _all_recipes(arguments, root) if args.items() <= recipe.args.items())
    if not found:
        fix = "`rocmatrix images list` shows the arguments of each."
        raise InputError(f"no image has {', '.join(arguments.arg)}", where="--arg", fix=fix)
    return found


def _all_recipes(arguments: argparse.Namespace, root: Path) -> tuple[Recipe, ...]:
    """Return every image of the named recipes; without a name what matrix.yaml chooses, for a list with all of ours."""
    from rocmatrix.images.loading import every_recipe  # noqa: PLC0415 - as above
    from rocmatrix.plan.matrix_model import SHIPPED  # noqa: PLC0415

    if arguments.recipe:
        return tuple(recipe for name in arguments.recipe for recipe in every_recipe(name, root, arguments.base))
    if arguments.action != "list":
        return _loaded(_matrix_specs(arguments), arguments, root)
    ours = tuple(recipe for name in SHIPPED for recipe in every_recipe(name, root, arguments.base))
    named = arguments.matrix.exists() or arguments.matrix != DEFAULT_MATRIX
    specs = _container_specs(arguments) if named else ()
    images = {recipe.digest: recipe for recipe in (*_loaded(specs, arguments, root), *ours)}
    return tuple(images.values())  # what builds of this matrix use first, and none twice


def _loaded(specs: tuple[ToolchainSpec, ...], arguments: argparse.Namespace, root: Path) -> tuple[Recipe, ...]:
    """Return the images of toolchains as their builds use them, but for ``--base``."""
    from rocmatrix.images.loading import load_recipe  # noqa: PLC0415 - as above

    base = {"BASE": arguments.base} if arguments.base else {}
    return tuple(load_recipe(spec.recipe, {**spec.args, **base}, rocm=spec.rocm, root=root) for spec in specs)


def _container_specs(arguments: argparse.Namespace) -> tuple[ToolchainSpec, ...]:
    """Return the toolchains of matrix.yaml that are images."""
    from rocmatrix.pipeline import load_plan  # noqa: PLC0415 - the stages are heavy
    from rocmatrix.toolchain.engines import runs_in_container  # noqa: PLC0415

    return tuple(spec for spec in load_plan(arguments.matrix, toolchain=None).toolchains if runs_in_container(spec))


def _matrix_specs(arguments: argparse.Namespace) -> tuple[ToolchainSpec, ...]:
    """Return the toolchains of matrix.yaml that are images; raises ``UsageError`` if there are none."""
    specs = _container_specs(arguments)
    if not specs:
        raise UsageError(
            f"{arguments.matrix} chooses no container recipe",
            fix="Name one: almalinux, therock, debian or ./path; `rocmatrix images list` shows them.",
        )
    return specs


def _named_values(words: list[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a mapping; raises ``UsageError`` for any other."""
    pairs = [word.partition("=") for word in words]
    if odd := [word for word, (name, equals, _) in zip(words, pairs, strict=True) if not (name and equals)]:
        raise UsageError(f"--arg {odd[0]!r} is not NAME=VALUE", fix="Write e.g. --arg ROCM_VERSION=7.2.4.")
    return {name: value for name, _, value in pairs}


def _build_options(arguments: argparse.Namespace) -> BuildOptions:
    from rocmatrix.images.options import BuildOptions  # noqa: PLC0415 - as above
    from rocmatrix.report.console import make_console  # noqa: PLC0415

    plain = BuildOptions()
    console = make_console(sys.stderr)
    return BuildOptions(
        certificates=arguments.ca_bundle,
        network=arguments.network,
        builder=arguments.builder,
        cache=arguments.cache,
        registry=arguments.registry or plain.registry,
        progress=(lambda line: console.print(line, soft_wrap=True)) if arguments.verbose else plain.progress,
    )


VERB = Verb(
    name="images",
    summary="build, list, push or pin the images of container recipes",
    declare=declare,
    execute=execute,
)
