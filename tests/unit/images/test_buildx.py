"""The command line of buildx, and what it sees: proxies alone come by the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmatrix.errors import RocmatrixError
from rocmatrix.images import buildx
from rocmatrix.images.building import build_arguments
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.options import BuildOptions, Order
from tests.unit.images.folders import RECIPE, write_recipe

SECRET = "http://user:secret@proxy.example.com:3128"  # noqa: S105 - nobody's


def _order(root: Path, argument: str) -> Order:
    write_recipe(root, recipe=RECIPE.replace("ROCM = ", f"{argument} = "))
    recipe = load_recipe("./mine", {}, rocm=None, root=root)
    options = BuildOptions(proxies={"https_proxy": SECRET}, registry=None)
    return Order(recipe=recipe, options=options, context=b"", arguments=build_arguments(recipe, options), network=None)


def test_a_proxy_is_not_on_the_command_line_and_a_recipes_argument_is(tmp_path: Path) -> None:
    words = buildx.command(_order(tmp_path, "ROCM"))
    assert not any("secret" in word for word in words)
    assert {"https_proxy", "HTTPS_PROXY", "ROCM=7.2.4"} <= set(words)


def test_no_argument_of_a_recipe_is_a_variable_of_a_command_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("DOCKER_HOST", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
        try:
            buildx.build(_order(tmp_path, name))
        except RocmatrixError as err:
            pytest.fail(str(err))
        seen = (tmp_path / "seen").read_text()
        assert f"HTTPS_PROXY={SECRET}\n" in seen
        assert f"{name}=" not in seen
