"""Recipes of the tests' own that build in seconds, on the base images of the test bed."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.images.loading import load_recipe
from rocmatrix.images.recipe import Recipe

PATTERN = """ARG BASE
FROM ${BASE} AS build
COPY pins certificates /context/
RUN {command}

FROM scratch
COPY --from=build /made /made
COPY --from=build /bin/true /made/
USER 1000:1000
"""
"""The form of the recipes that take certificates: what is fetched, is fetched in a stage that is not in the image."""

RECIPE = """schema = 1
description = "a recipe of the tests"
compiler = "nobody"
releasable = true
[[images]]
args = {{ }}
hip = ["7.2"]
base = "base"
pins = ["packages"]
build-gigabytes = {gigabytes}
[images.tools]
hipcc = "/made/true"
clang = "/made/true"
ninja = "/made/true"
python = "/made/true"
"""
PINS = """schema = 1
[[bases]]
name = "base"
reference = "{base}"
source = "the test bed"
date = "2026-11-30"
verified = false
[[sets]]
name = "packages"
kind = "apt"
source = "the test"
date = "2026-11-30"
verified = true
[sets.packages]
{package} = "1"
"""


def make_recipe(
    root: Path,
    base: str,
    *,
    name: str,
    command: str = "mkdir /made && cp /context/apt /made/",
    package: str = "some",
    gigabytes: float = 0.001,
) -> Recipe:
    """Write a recipe below ``root``, on a base that the engine has, and return it."""
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(PATTERN.replace("{command}", command))
    (folder / "recipe.toml").write_text(RECIPE.format(gigabytes=gigabytes))
    (folder / "pins.toml").write_text(PINS.format(base=base, package=package))
    return load_recipe(f"./{name}", {}, rocm=None, root=root)
