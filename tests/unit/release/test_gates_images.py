"""A release of what images built: not of conformance recipes, and not before their pins were resolved."""

import dataclasses
from pathlib import Path

import msgspec
import pytest

from rocmatrix import document
from rocmatrix.errors import ReleaseError
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.recipe import Recipe
from rocmatrix.metadata import Metadata
from rocmatrix.release.gates import require_current_recipes, require_publishable
from rocmatrix.toolchain.hipcc.toolchain import recipe_digest

ROOT = Path(__file__).parents[3]


def _verified(recipe: Recipe) -> Recipe:
    sure = dataclasses.replace(recipe.base.provenance, verified=True)
    pins = tuple(dataclasses.replace(one, provenance=sure) for one in recipe.pins)
    return dataclasses.replace(recipe, base=dataclasses.replace(recipe.base, provenance=sure), pins=pins)


def test_what_a_conformance_recipe_built_is_refused_whatever_its_pins() -> None:
    recipe = _verified(load_recipe("debian", {"SUITE": "forky"}, rocm="7.2", root=ROOT))
    with pytest.raises(ReleaseError, match=r"never published.*debian \(SUITE=forky\)"):
        require_publishable([recipe])


def test_pins_that_nobody_resolved_stop_a_release_and_are_named_with_the_command() -> None:
    recipe = load_recipe("almalinux", {"ROCM_VERSION": "7.2.4"}, rocm="7.2", root=ROOT)
    with pytest.raises(
        ReleaseError, match=r"base docker\.io/library/almalinux:8, dnf.*, rpm packages rocm-7\.2\.4"
    ) as no:
        require_publishable([recipe])
    assert "`rocmatrix images pin almalinux`" in str(no.value)


def test_resolved_pins_let_a_release_pass_and_a_base_without_a_digest_does_not() -> None:
    recipe = _verified(load_recipe("almalinux", {"ROCM_VERSION": "7.2.4"}, rocm="7.2", root=ROOT))
    require_publishable([recipe])
    local = load_recipe("almalinux", {"ROCM_VERSION": "7.2.4", "BASE": "local/alma:8"}, rocm="7.2", root=ROOT)
    with pytest.raises(ReleaseError, match="base local/alma:8"):
        require_publishable([dataclasses.replace(local, pins=recipe.pins)])


def test_builds_without_images_have_nothing_to_pin() -> None:
    require_publishable([])


def test_what_another_state_of_a_recipe_built_is_built_anew_before_it_is_released() -> None:
    folder = next((ROOT / "tests/golden/dist/kernels/scale/build").iterdir())
    metadata = {folder.name: document.from_json((folder / "metadata.json").read_bytes(), Metadata)}
    recipe = load_recipe("almalinux", {"ROCM_VERSION": "7.2.4"}, rocm="7.2", root=ROOT)
    other = load_recipe("almalinux", {"ROCM_VERSION": "7.1.1"}, rocm="7.1", root=ROOT)
    now = recipe_digest(recipe.digest)
    block = metadata[folder.name].rocmatrix
    assert block.toolchain
    for made, refused in ((now, False), (recipe_digest(other.digest), True)):
        toolchain = msgspec.structs.replace(block.toolchain, recipe_digest=made)
        ours = msgspec.structs.replace(block, toolchain=toolchain)
        built = {folder.name: msgspec.structs.replace(metadata[folder.name], rocmatrix=ours)}
        if refused:
            with pytest.raises(ReleaseError, match=f"another state of their container recipe.*{folder.name}"):
                require_current_recipes(built, {folder.name: now})
        else:
            require_current_recipes(built, {folder.name: now})
