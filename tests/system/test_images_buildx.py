"""buildx (Debian's docker-buildx, unpacked) beside the classic builder: one recipe, one digest, the same files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rocmatrix.errors import BuildError, MissingRequirementError
from rocmatrix.images import buildx
from rocmatrix.images.image import Image, ensure_image
from rocmatrix.images.options import BuildOptions
from tests.system.debian import Archive
from tests.system.docker_bed import Bed
from tests.system.image_recipes import make_recipe
from tests.system.test_images import BUNDLE, PASSWORD, _layers, _name, recipes

__all__ = ["recipes"]
pytestmark = pytest.mark.needs_debian_images
PROXY = f"http://user:{PASSWORD}@127.0.0.1:9"
TRY = f"grep -q 'BEGIN CERTIFICATE' /context/extra.crt && test $https_proxy = {PROXY}"
COMMAND = f"mkdir /made && {TRY} && cp /context/apt /made/"


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give docker's command line the plugin, for this module alone."""
    if shutil.which("docker") is None:
        pytest.skip("there is no docker command line")
    folder = tmp_path_factory.mktemp("buildx")
    archive = Archive(folder=folder / "debian")
    archive.update()
    (program,) = archive.unpack("docker-buildx").rglob("cli-plugins/docker-buildx")
    plugins = folder / "configuration" / "cli-plugins"
    plugins.mkdir(parents=True)
    shutil.copy(program, plugins)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_CONFIG", str(plugins.parent))
        buildx.version.cache_clear()
        yield
    buildx.version.cache_clear()


def test_both_builders_make_the_same_files_of_one_recipe_and_none_of_the_site(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path
) -> None:
    recipe = make_recipe(recipes, debian_bases["trixie"], name=_name(), command=COMMAND)
    made: dict[str, dict[str, bytes]] = {}
    for builder in ("auto", "classic"):
        said: list[str] = []
        options = BuildOptions(
            builder=builder, certificates=BUNDLE, proxies={"https_proxy": PROXY}, progress=said.append
        )
        image = ensure_image(docker_engine.client, recipe, options)
        assert any(line.startswith("#1 ") for line in said) == (builder == "auto")
        assert image.recipe_digest == recipe.digest
        made[builder] = _files(docker_engine, image)
        docker_engine.client.images.remove(image.id, force=True)
    assert made["auto"] == made["classic"]
    assert made["auto"]["made/apt"] == b"some=1\n"


def _files(bed: Bed, image: Image) -> dict[str, bytes]:
    """Return the files of an image by path, after looking for what the site passed in."""
    found = dict(_layers(bed, image))
    planted = BUNDLE.read_bytes().splitlines()[1]
    assert [name for name, data in found.items() if PASSWORD.encode() in data or planted in data] == []
    return {name.partition(".tar/")[2]: data for name, data in found.items() if ".tar/" in name and data}


def test_a_cache_that_the_engines_own_builder_cannot_write_is_told_with_what_to_do(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path
) -> None:
    if "io.containerd.snapshotter.v1" in str(docker_engine.client.info()["DriverStatus"]):
        pytest.skip("this engine keeps images in containerd's store, whose builder can")
    recipe = make_recipe(recipes, debian_bases["trixie"], name=_name())
    with pytest.raises(MissingRequirementError, match="writes no cache into a registry"):
        ensure_image(docker_engine.client, recipe, BuildOptions(builder="buildx", cache="127.0.0.1:9/cache"))


def test_a_failing_instruction_and_a_base_that_is_nowhere_are_told_with_their_line(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path
) -> None:
    options = BuildOptions(builder="buildx")
    failing = make_recipe(recipes, debian_bases["trixie"], name=_name(), command="echo so far && ls /nowhere")
    with pytest.raises(BuildError, match=r"Dockerfile:4: ") as failed:
        ensure_image(docker_engine.client, failing, options)
    assert "so far" in str(failed.value)
    nowhere = make_recipe(recipes, f"127.0.0.1:9/{_name()}:none", name=_name())
    with pytest.raises(MissingRequirementError, match=r"Dockerfile:2: .*cannot pull it"):
        ensure_image(docker_engine.client, nowhere, options)
