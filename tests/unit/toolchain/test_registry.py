"""Which recipes there are, where each runs, and what is said if it cannot."""

from pathlib import Path

import pytest

from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.images.loading import load_recipe
from rocmatrix.plan.model import ToolchainId, ToolchainSpec
from rocmatrix.toolchain.registry import make_toolchain
from tests.unit.images.folders import RECIPE, write_recipe

TOOLS = {"hipcc": "hipcc", "clang": "clang++", "ninja": "ninja", "python": "python3"}
SAID = {"--version": "HIP version: 7.2.53211\nAMD clang version 22.0.0\n", "--rocmpath": "/opt/rocm\n"}


def spec(recipe: str, **args: str) -> ToolchainSpec:
    name = ToolchainId(f"{recipe}-rocm7.2")
    return ToolchainSpec(id=name, recipe=recipe, rocm="7.2", args=args, chosen_by="matrix.yaml")


def docker() -> Engine:
    """Return an engine that nothing is asked of."""
    return DockerEngine(lambda _: "sha256:0", ninja="/usr/bin/ninja", environment={})


class Answering(DockerEngine):
    """An engine with an image whose programs say which they are."""

    def image_id(self) -> str:
        return "sha256:0"

    def run(self, command: Command) -> Completed:
        if command.argv[1] == "-c":  # which of the recipe's tools are not there: run on this machine, below a folder
            return HostEngine().run(command)
        return Completed(returncode=0, output=SAID.get(command.argv[1], "  gfx942\n"), seconds=0.0)


def test_a_recipe_of_a_user_is_known_by_its_path_and_never_as_one_of_ours(tmp_path: Path) -> None:
    _tools(tmp_path)
    write_recipe(tmp_path / "toolchains", name="almalinux", recipe=RECIPE.replace('"/usr/bin/', f'"{tmp_path}/'))
    own = "./toolchains/almalinux"
    recipe = load_recipe(own, {}, rocm="7.2", root=tmp_path)
    engine = Answering(lambda _: "", ninja="/usr/bin/ninja", environment={})
    identity = make_toolchain(spec(own), engine=engine, cache=tmp_path, recipe=recipe).identity()
    assert (identity.recipe, identity.image_digest) == (own, "sha256:0")


def _tools(folder: Path) -> None:
    """Make what the tests' recipes name as tools, below a folder."""
    for name in TOOLS.values():
        (folder / name).write_text("")
        (folder / name).chmod(0o755)


@pytest.mark.parametrize("key", ["hipcc", "clang", "ninja", "python"])
def test_a_tool_that_the_image_does_not_have_is_named_with_its_key_and_recipe(tmp_path: Path, key: str) -> None:
    _tools(tmp_path)
    (tmp_path / TOOLS[key]).unlink()
    if key == "clang":
        (tmp_path / TOOLS[key]).mkdir()  # a folder is none either
    folder = write_recipe(tmp_path, recipe=RECIPE.replace('"/usr/bin/', f'"{tmp_path}/'))
    recipe = load_recipe("./mine", {}, rocm="7.2", root=tmp_path)
    engine = Answering(lambda _: "", ninja="/usr/bin/ninja", environment={})
    with pytest.raises(MissingRequirementError) as raised:
        make_toolchain(spec("./mine"), engine=engine, cache=tmp_path, recipe=recipe).identity()
    assert raised.value.where == str(folder / "recipe.toml")
    said = str(raised.value)
    assert f"the image {recipe.reference} of the recipe {recipe.label} has no such program" in said
    assert f"images.tools {key} = '{tmp_path / TOOLS[key]}'\n" in said


@pytest.mark.parametrize("recipe", ["almalinux", "therock", "debian", "./mine"])
def test_an_image_on_the_host_is_refused_with_what_to_do(recipe: str, tmp_path: Path) -> None:
    made = make_toolchain(spec(recipe), engine=HostEngine(), cache=tmp_path)
    with pytest.raises(MissingRequirementError, match="is a container image, and the engine is host") as raised:
        made.identity()
    assert raised.value.where == "matrix.yaml"
    assert "--engine auto" in str(raised.value)


@pytest.mark.parametrize("recipe", ["llvm", "hipcc"])
def test_what_is_on_this_machine_is_refused_in_a_container(recipe: str, tmp_path: Path) -> None:
    made = make_toolchain(spec(recipe), engine=docker(), cache=tmp_path)
    with pytest.raises(MissingRequirementError, match=f"{recipe} runs on this machine, and the engine is docker"):
        made.identity()


def test_a_machine_without_rocm_is_told_so_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    made = make_toolchain(spec("hipcc"), engine=HostEngine(), cache=tmp_path)
    with pytest.raises(MissingRequirementError, match="there is no hipcc") as raised:
        made.identity()
    assert f"{tmp_path}/rocm/bin" in str(raised.value)


@pytest.mark.parametrize("recipe", ["llvm", "hipcc"])
def test_what_is_on_this_machine_takes_no_arguments(recipe: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes no arguments, but was given ROCM_VERSION"):
        make_toolchain(spec(recipe, ROCM_VERSION="7.2.4"), engine=HostEngine(), cache=tmp_path)


def test_making_a_toolchain_writes_nothing(tmp_path: Path) -> None:
    make_toolchain(spec("llvm"), engine=HostEngine(), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
