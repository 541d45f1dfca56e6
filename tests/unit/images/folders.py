"""Recipes of users' own, as files."""

from __future__ import annotations

from pathlib import Path

DOCKERFILE = "ARG BASE\nFROM ${BASE}\nCOPY pins /pins/\nRUN true\n"
RECIPE = """schema = 1
description = "of our own"
compiler = "ours"
releasable = true
[[images]]
args = { ROCM = "7.2.4" }
hip = ["7.2"]
base = "base"
pins = ["packages"]
build-gigabytes = 0.001
[images.tools]
hipcc = "/usr/bin/hipcc"
clang = "/usr/bin/clang++"
ninja = "/usr/bin/ninja"
python = "/usr/bin/python3"
"""
PINS = """schema = 1
[[bases]]
name = "base"
reference = "registry.example.com/base:1"
digest = "sha256:{digest}"
source = "us"
date = "2026-11-30"
verified = true
[[sets]]
name = "packages"
kind = "apt"
source = "us"
date = "2026-11-30"
verified = true
[sets.packages]
hipcc = "1.2-3"
""".replace("{digest}", "1" * 64)


def write_recipe(
    root: Path, *, dockerfile: str = DOCKERFILE, recipe: str = RECIPE, pins: str | None = PINS, name: str = "mine"
) -> Path:
    """Write a recipe below ``root`` and return its folder; ``pins`` may be none."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(dockerfile)
    (folder / "recipe.toml").write_text(recipe)
    if pins is not None:
        (folder / "pins.toml").write_text(pins)
    return folder
