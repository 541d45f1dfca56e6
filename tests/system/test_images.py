"""Images on a real engine: built once for each recipe digest, free of what the site passed in, pushed by digest."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from rocmatrix.errors import BuildError, InputError, MissingRequirementError
from rocmatrix.images.image import BASE_LABEL, DIGEST_LABEL, Image, ensure_image, find_image
from rocmatrix.images.options import BuildOptions
from rocmatrix.images.recipe import Recipe
from rocmatrix.images.registry import pull, push
from tests.system.docker_bed import SUITES, Bed, debian_recipe
from tests.system.image_recipes import make_recipe
from tests.system.image_registry import running_registry

ROOT = Path(__file__).parents[2]
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
PASSWORD = "planted-7f3a9c"  # noqa: S105 - looked for in images
TRY_HIP = "#include <hip/hip_runtime.h>\n__global__ void add(float* a) { a[threadIdx.x] += 1; }\n"

pytestmark = pytest.mark.needs_debian_images


@pytest.fixture(scope="module")
def base(debian_bases: Mapping[str, str]) -> str:
    return debian_bases["trixie"]


@pytest.fixture
def recipes(docker_engine: Bed, tmp_path: Path) -> Iterator[Path]:
    """A folder for recipes; images of them are removed afterwards."""
    yield tmp_path
    for folder in tmp_path.iterdir():
        for image in docker_engine.client.images.list(name=f"rocmatrix/{folder.name}"):
            with suppress(ImageNotFound):  # a stage of a build that another removed
                docker_engine.client.images.remove(str(image.id), force=True)


def _name() -> str:
    """Return a name that no other run on this engine has."""
    return f"test-{uuid.uuid4().hex[:12]}"


def _run(*words: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "images", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not check or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def test_an_image_is_built_once_and_found_by_its_recipe_from_then_on(
    docker_engine: Bed, base: str, recipes: Path
) -> None:
    client = docker_engine.client
    recipe = make_recipe(recipes, base, name=_name())
    assert find_image(client, recipe) is None
    said: list[str] = []
    built = ensure_image(client, recipe, BuildOptions(builder="classic", progress=said.append))
    assert any(line.startswith("Successfully built") for line in said)
    said.clear()
    assert ensure_image(client, recipe, BuildOptions(progress=said.append)) == built
    assert said == []
    labels = client.images.get(built.id).labels
    assert labels[DIGEST_LABEL] == recipe.digest
    assert labels["org.opencontainers.image.title"] == f"rocmatrix {recipe.label}"
    assert client.images.get(built.id).attrs["Config"]["User"] == "1000:1000"


def test_threads_that_want_one_image_at_a_time_build_it_once(docker_engine: Bed, base: str, recipes: Path) -> None:
    recipe = make_recipe(recipes, base, name=_name())
    said: list[str] = []
    options = BuildOptions(builder="classic", progress=said.append)
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: ensure_image(docker_engine.client, recipe, options).id, range(4)))
    assert len(made) == 1
    assert len([line for line in said if line.startswith("Successfully built")]) == 1


def test_another_version_is_another_image(docker_engine: Bed, base: str, recipes: Path) -> None:
    name = _name()
    first = ensure_image(docker_engine.client, make_recipe(recipes, base, name=name))
    second = ensure_image(docker_engine.client, make_recipe(recipes, base, name=name, package="other"))
    assert first.id != second.id
    assert first.reference != second.reference


def test_another_base_under_the_same_name_is_built_on_anew(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path
) -> None:
    client = docker_engine.client
    moving = f"local/{_name()}:moving"
    try:
        client.api.tag(debian_bases["trixie"], moving.partition(":")[0], "moving")
        recipe = make_recipe(recipes, moving, name=_name())
        first = ensure_image(client, recipe)
        client.api.tag(debian_bases["forky"], moving.partition(":")[0], "moving")
        second = ensure_image(client, recipe)
        assert first.id != second.id
        assert client.images.get(second.id).labels[BASE_LABEL] == client.images.get(debian_bases["forky"]).id
    finally:
        client.images.remove(moving)


def _layers(bed: Bed, image: Image) -> Iterator[tuple[str, bytes]]:
    """Yield everything that an image is: its configuration, its history and every file of every layer."""
    saved = io.BytesIO(b"".join(bed.client.images.get(image.id).save()))
    with tarfile.open(fileobj=saved) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is None:
                continue
            data = content.read()
            if not entry.name.endswith((".tar", "layer")):
                yield entry.name, data
                continue
            with tarfile.open(fileobj=io.BytesIO(data)) as layer:
                for file in layer:
                    held = layer.extractfile(file) if file.isfile() else None
                    yield f"{entry.name}/{file.name}", held.read() if held else b""


def test_certificates_and_proxies_reach_the_build_and_are_not_in_the_image(
    docker_engine: Bed, base: str, recipes: Path
) -> None:
    proxy = f"http://user:{PASSWORD}@127.0.0.1:9"
    command = (
        f"mkdir /made && grep -q 'BEGIN CERTIFICATE' /context/extra.crt"
        f" && test $https_proxy = {proxy.replace(PASSWORD, 'planted-$(echo 7f3a9c)')} && test $HTTPS_PROXY"
        f" && echo proxied >/made/proof"
    )
    recipe = make_recipe(recipes, base, name=_name(), command=command)
    options = BuildOptions(certificates=BUNDLE, proxies={"https_proxy": proxy})
    image = ensure_image(docker_engine.client, recipe, options)
    found = dict(_layers(docker_engine, image))
    assert any(name.endswith("made/proof") and data == b"proxied\n" for name, data in found.items())
    planted = BUNDLE.read_bytes().splitlines()[1]
    assert [name for name, data in found.items() if PASSWORD.encode() in data or planted in data] == []
    history = json.dumps(docker_engine.client.images.get(image.id).history())
    assert PASSWORD not in history


def test_a_failing_instruction_is_told_with_its_line_and_last_words(
    docker_engine: Bed, base: str, recipes: Path
) -> None:
    recipe = make_recipe(recipes, base, name=_name(), command="echo so far so good && ls /nowhere")
    with pytest.raises(BuildError, match=r"Dockerfile:4: .*returned a non-zero code: 2") as failed:
        ensure_image(docker_engine.client, recipe)
    assert "| so far so good" in str(failed.value)
    assert "/nowhere': No such file or directory" in str(failed.value)
    assert find_image(docker_engine.client, recipe) is None


def _leftovers(bed: Bed, word: str) -> list[str]:
    """Return the nameless images with an instruction that has this word."""
    nameless = bed.client.images.list(filters={"dangling": True})
    found = []
    for image in nameless:
        with suppress(ImageNotFound):  # a stage of somebody else's build
            found += [str(image.id)] if word in json.dumps(image.history()) else []
    return found


@pytest.mark.parametrize("ending", ["failed", "interrupted"])
def test_a_build_that_does_not_end_well_leaves_no_stage_with_certificates(
    docker_engine: Bed, base: str, recipes: Path, ending: str
) -> None:
    name = _name()
    last = "false" if ending == "failed" else f"echo running-{name} && sleep 60"
    recipe = make_recipe(recipes, base, name=name, command=f"echo made-{name}\nRUN {last}")

    def progress(line: str) -> None:
        if line == f"running-{name}":  # as if Ctrl-C was pressed while the engine runs the instruction
            raise KeyboardInterrupt

    options = BuildOptions(certificates=BUNDLE, builder="classic", progress=progress)
    with pytest.raises(BuildError if ending == "failed" else KeyboardInterrupt):
        ensure_image(docker_engine.client, recipe, options)
    assert _leftovers(docker_engine, name) == []


def test_a_dockerfile_that_is_none_is_bad_input_at_its_line(docker_engine: Bed, base: str, recipes: Path) -> None:
    recipe = make_recipe(recipes, base, name=_name())
    broken = {**recipe.context, "Dockerfile": b"ARG BASE\nFROM ${BASE}\nRUM true\n"}
    with pytest.raises(InputError, match=r"Dockerfile:3: .*RUM"):
        ensure_image(docker_engine.client, replace(recipe, context=broken))


def test_a_base_that_is_nowhere_is_told_with_what_to_do(docker_engine: Bed, recipes: Path) -> None:
    recipe = make_recipe(recipes, f"127.0.0.1:9/{_name()}:none", name=_name())
    with pytest.raises(MissingRequirementError, match="does not have the base image and cannot pull it") as failed:
        ensure_image(docker_engine.client, recipe)
    assert "--base" in str(failed.value)
    assert "Dockerfile:2" in str(failed.value)


def test_a_disk_that_is_too_small_is_told_before_anything_is_sent(docker_engine: Bed, base: str, recipes: Path) -> None:
    said: list[str] = []
    recipe = make_recipe(recipes, base, name=_name(), gigabytes=1000)
    if not os.environ["DOCKER_HOST"].startswith("unix://"):
        pytest.skip("the engine's disk is on another machine")
    if shutil.disk_usage("/").free > 1e12:
        pytest.skip("this machine has more than the terabyte that the recipe asks for")
    with pytest.raises(MissingRequirementError, match=r"takes 1000\.0 GB, and \d+\.\d GB are free"):
        ensure_image(docker_engine.client, recipe, BuildOptions(progress=said.append))
    assert said == []


def test_a_base_for_other_machines_is_refused(docker_engine: Bed, recipes: Path) -> None:
    name = f"local/{_name()}"
    docker_engine.client.images.load(_foreign_image(f"{name}:arm"))
    try:
        recipe = make_recipe(recipes, f"{name}:arm", name=_name())
        with pytest.raises(MissingRequirementError, match="is for linux/arm64, and recipes are for linux/amd64"):
            ensure_image(docker_engine.client, recipe)
    finally:
        docker_engine.client.images.remove(f"{name}:arm")


def _foreign_image(reference: str) -> bytes:
    """Return an empty image for arm64, as ``docker save`` would write it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w"):
        pass
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"]}
    config = json.dumps({"architecture": "arm64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    manifest = json.dumps([{"Config": "c.json", "RepoTags": [reference], "Layers": ["l/layer.tar"]}]).encode()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in (("c.json", config), ("l/layer.tar", layer.getvalue()), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real registry (Debian's docker-registry) on this machine, with nothing in it."""
    with running_registry(tmp_path_factory.mktemp("registry")) as host:
        yield f"{host}/rocmatrix"


def test_an_image_is_pushed_by_digest_and_pulled_instead_of_built(
    docker_engine: Bed, base: str, recipes: Path, registry: str
) -> None:
    client = docker_engine.client
    recipe = make_recipe(recipes, base, name=_name())
    image = ensure_image(client, recipe)
    pushed = push(client, recipe, image, registry)
    assert pushed.startswith(f"{registry}/{recipe.name}@sha256:")
    assert pushed in client.images.get(image.id).attrs["RepoDigests"]
    client.images.remove(image.id, force=True)
    said: list[str] = []
    again = ensure_image(client, recipe, BuildOptions(registry=registry, progress=said.append))
    assert (again.id, said) == (image.id, [])
    client.images.remove(image.id, force=True)


def test_what_a_registry_lacks_is_built_and_what_lies_about_its_recipe_is_refused(
    docker_engine: Bed, base: str, recipes: Path, registry: str
) -> None:
    client = docker_engine.client
    recipe = make_recipe(recipes, base, name=_name())
    assert pull(client, recipe, registry) is False
    other = ensure_image(client, make_recipe(recipes, base, name=_name(), package="other"))
    client.api.tag(other.id, f"{registry}/{recipe.name}", recipe.short_digest)
    client.api.push(f"{registry}/{recipe.name}", recipe.short_digest)
    client.images.remove(f"{registry}/{recipe.name}:{recipe.short_digest}")
    with pytest.raises(MissingRequirementError, match=r"is not an image of .*: its recipe digest is sha256:"):
        pull(client, recipe, registry)
    client.images.remove(f"{registry}/{recipe.name}:{recipe.short_digest}")


def test_a_registry_that_is_away_is_told(docker_engine: Bed, base: str, recipes: Path) -> None:
    recipe = make_recipe(recipes, base, name=_name())
    image = ensure_image(docker_engine.client, recipe)
    with pytest.raises(MissingRequirementError, match=r"could not be pushed: .*connection refused"):
        push(docker_engine.client, recipe, image, "127.0.0.1:9/rocmatrix")


@pytest.fixture(params=SUITES)
def debian(request: pytest.FixtureRequest, debian_images: Mapping[str, Image]) -> tuple[Recipe, Image]:
    suite = str(request.param)
    return debian_recipe(suite), debian_images[suite]


def _inside(bed: Bed, image: Image, script: str, **variables: str) -> str:
    output = bed.client.containers.run(
        image.id, ["sh", "-euc", script], network_mode="none", remove=True, environment=variables
    )
    return bytes(output).decode()


def test_debian_images_have_their_tools_libnuma_and_an_ordinary_user(
    docker_engine: Bed, debian: tuple[Recipe, Image]
) -> None:
    recipe, image = debian
    tools = " ".join(vars(recipe.tools).values())
    said = _inside(
        docker_engine,
        image,
        f"id -u; for tool in {tools}; do test -x $tool; done; ls /usr/lib/x86_64-linux-gnu/libnuma.so; pwd;"
        " find / -xdev -perm /6000 -type f 2>/dev/null || true; ls /context 2>/dev/null || echo gone",
    )
    assert said.split() == ["1000", "/usr/lib/x86_64-linux-gnu/libnuma.so", "/home/builder", "gone"]
    packages = _inside(docker_engine, image, "dpkg-query --show --showformat='${Package}=${Version}\\n'").split()
    assert set(recipe.context["pins/apt"].decode().split()) <= set(packages)
    assert image.size < 1.3e9


def test_debian_images_compile_for_gfx942(docker_engine: Bed, debian: tuple[Recipe, Image]) -> None:
    recipe, image = debian
    script = (
        f"cd /tmp; printf '%s' '{TRY_HIP}' >try.hip;"
        f" {recipe.tools.hipcc} -shared -fPIC --offload-arch=gfx942 try.hip -o try.so; grep -c gfx942 try.so"
    )
    assert int(_inside(docker_engine, image, script, **recipe.environment)) >= 1


def test_the_verb_lists_builds_and_says_so_in_json(docker_engine: Bed, debian_images: Mapping[str, Image]) -> None:
    assert docker_engine.host is not None
    built = json.loads(_run("build", "debian", "--arg", "SUITE=forky", "--base", "local/debian:forky", "--json").stdout)
    (row,) = built["images"]
    assert (row["id"], row["built"], row["releasable"]) == (debian_images["forky"].id, False, False)
    assert row["recipe_digest"] == debian_images["forky"].recipe_digest
    listed = json.loads(_run("list", "--json").stdout)
    assert {row["recipe"] for row in listed["images"]} == {"almalinux", "therock", "debian"}


def test_the_verb_without_an_engine_lists_all_the_same_and_does_not_build() -> None:
    away = "unix:///nowhere/docker.sock"
    listed = json.loads(_run("list", "--json", DOCKER_HOST=away).stdout)
    assert listed["engine"].startswith(f"{away}: no docker engine is running")
    assert "not built" not in _run("list", DOCKER_HOST=away).stdout
    refused = _run("build", "debian", "--arg", "SUITE=forky", check=False, DOCKER_HOST=away)
    assert refused.returncode == 3
    assert "no docker engine is running" in refused.stderr
