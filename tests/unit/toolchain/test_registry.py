"""Which recipes there are, and what is said about the others."""

from pathlib import Path

import pytest

from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.model import ToolchainId, ToolchainSpec
from rocmatrix.toolchain.registry import make_toolchain


def spec(recipe: str, **args: str) -> ToolchainSpec:
    name = ToolchainId(f"{recipe}-rocm7.2")
    return ToolchainSpec(id=name, recipe=recipe, rocm="7.2", args=args, chosen_by="matrix.yaml")


@pytest.mark.parametrize("recipe", ["hipcc", "almalinux", "therock", "./mine"])
def test_a_recipe_that_does_not_exist_yet_is_named_with_those_that_do(recipe: str, tmp_path: Path) -> None:
    made = make_toolchain(spec(recipe), engine=HostEngine(), cache=tmp_path)
    with pytest.raises(MissingRequirementError, match=rf"no recipe '{recipe}' yet; there is llvm") as raised:
        made.identity()
    assert raised.value.where == "matrix.yaml"


def test_llvm_takes_no_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes no arguments, but was given ROCM_VERSION"):
        make_toolchain(spec("llvm", ROCM_VERSION="7.2.4"), engine=HostEngine(), cache=tmp_path)


def test_making_a_toolchain_writes_nothing(tmp_path: Path) -> None:
    make_toolchain(spec("llvm"), engine=HostEngine(), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
