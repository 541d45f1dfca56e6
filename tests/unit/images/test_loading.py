import os
import re
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.images.loading import every_recipe, load_recipe, pins_path
from rocmatrix.images.pins import unverified
from tests.unit.images.folders import DOCKERFILE, PINS, RECIPE, write_recipe

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("rocm", "version"), [("6.3", "6.3.4"), ("7.1", "7.1.1"), ("7.2", "7.2.4")], ids=str)
def test_without_arguments_the_newest_image_for_a_rocm_is_taken(rocm: str, version: str) -> None:
    assert load_recipe("almalinux", {}, rocm=rocm, root=ROOT).args == {"ROCM_VERSION": version}


def test_rocm_10_is_the_one_whose_torch_says_7_15() -> None:
    assert load_recipe("therock", {}, rocm="7.15", root=ROOT).args == {"ROCM_VERSION": "10.0.0"}


def test_an_image_for_another_rocm_is_refused_with_those_that_it_builds_for() -> None:
    with pytest.raises(InputError, match=r"builds for ROCm 7\.1, and not for 7\.2"):
        load_recipe("almalinux", {"ROCM_VERSION": "7.1.1"}, rocm="7.2", root=ROOT)


def test_arguments_that_no_image_has_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no image for ROCM_VERSION=7\.2\.9\n.*ROCM_VERSION=7\.2\.4\."):
        load_recipe("almalinux", {"ROCM_VERSION": "7.2.9"}, rocm="7.2", root=ROOT)


def test_a_conformance_recipe_builds_for_any_rocm_but_has_to_be_told_which_image() -> None:
    assert load_recipe("debian", {"SUITE": "forky"}, rocm="7.2", root=ROOT).hip == ()
    with pytest.raises(InputError, match="could be any of 2 images"):
        load_recipe("debian", {}, rocm="7.2", root=ROOT)


def test_a_name_that_is_no_recipe_and_a_path_that_is_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no container recipe 'llvm'"):
        load_recipe("llvm", {}, rocm=None, root=ROOT)
    with pytest.raises(InputError, match=r"the recipe \./none is not a folder"):
        load_recipe("./none", {}, rocm=None, root=tmp_path)


def test_a_recipe_of_ones_own_is_read_from_its_folder(tmp_path: Path) -> None:
    write_recipe(tmp_path, name="My Tools")
    recipe = load_recipe("./My Tools", {}, rocm="7.2", root=tmp_path)
    assert (recipe.name, recipe.compiler, recipe.reference) == ("my-tools", "ours", recipe.reference.lower())
    assert recipe.context["pins/apt"] == b"hipcc=1.2-3\n"
    assert re.fullmatch(r"rocmatrix/my-tools:[0-9a-f]{16}", recipe.reference)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"recipe": "schema = 1\n"}, "missing required field `description`"),
        ({"recipe": RECIPE.replace("schema = 1", "schema = 2")}, "schema is 2, and this rocmatrix reads 1"),
        (
            {"recipe": RECIPE.replace("hipcc =", "hipc =")},
            r"images\[0\].tools: there is no key 'hipc'\n  Did you mean hipcc\? Allowed: hipcc, clang, ninja, python\.",
        ),
        ({"recipe": "build-gigabyte = 1\n" + RECIPE}, r"toml: there is no key 'build-gigabyte'\n  Allowed: schema, "),
        (
            {"recipe": RECIPE.replace("build-gigabytes", "build_gigabytes")},
            r"images\[0\]: there is no key 'build_gigabytes'\n  Did you mean build-gigabytes\?",
        ),
        ({"pins": PINS.replace("kind =", "knd =")}, r"sets\[0\]: there is no key 'knd'\n  Did you mean kind\?"),
        ({"pins": PINS.replace("digest =", "digst =")}, r"bases\[0\]: there is no key 'digst'\n  Did you mean digest"),
        ({"recipe": RECIPE.replace('"/usr/bin/hipcc"', '"hipcc"')}, r"`\$.images\[0\].tools.hipcc`"),
        ({"recipe": RECIPE.replace('hip = ["7.2"]', "hip = [7.2]")}, r"Expected `str`, got `float`"),
        ({"recipe": RECIPE.replace('base = "base"', 'base = "other"')}, "there is no base 'other'"),
        ({"recipe": RECIPE.replace('"packages"', '"more"')}, "there is no set 'more'"),
        ({"recipe": "["}, "this is no TOML"),
        ({"pins": PINS.replace('"apt"', '"snap"')}, "Invalid enum value 'snap'"),
        ({"pins": PINS.replace("1.2-3", "1.2; rm -rf /")}, r"packages"),
        ({"pins": PINS.replace("1" * 64, "1" * 63)}, r"digest"),
        ({"pins": PINS + PINS.partition("schema = 1")[2].partition("[[sets]]")[0]}, "'base' is there twice"),
        ({"pins": None}, r"there is no pins\.toml"),
        ({"pins": PINS.replace('"apt"', '"pip"\naddress = "https://me:planted@x.example/simple"')}, "has a user name"),
        ({"pins": PINS.replace('"apt"', '"dnf"\naddress = "http://a.example http://me@x.example"')}, "has a user name"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_said_with_its_file(
    tmp_path: Path, wrong: dict[str, str | None], message: str
) -> None:
    folder = write_recipe(tmp_path, recipe=wrong.get("recipe") or RECIPE, pins=wrong.get("pins", PINS))
    with pytest.raises(InputError, match=message) as refused:
        load_recipe("./mine", {}, rocm="7.2", root=tmp_path)
    assert str(refused.value.where).startswith(str(folder))
    assert "planted" not in str(refused.value)


def test_a_folder_without_a_dockerfile_or_with_pipes_and_names_of_ours_is_refused(tmp_path: Path) -> None:
    folder = write_recipe(tmp_path)
    (folder / "pins").mkdir()
    (folder / "pins" / "apt").write_text("own")
    with pytest.raises(InputError, match="this name is taken"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)
    (folder / "pins" / "apt").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)
    (folder / "pipe").unlink()
    (folder / "recipe.toml").rename(folder / "recipe.tml")
    with pytest.raises(InputError, match=r"mine: there is no recipe\.toml"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)
    (folder / "recipe.tml").rename(folder / "recipe.toml")
    (folder / "Dockerfile").unlink()
    with pytest.raises(InputError, match="there is no Dockerfile"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)


def _digest(root: Path, **changed: str) -> str:
    write_recipe(root, **changed)
    return load_recipe("./mine", {}, rocm=None, root=root).digest


def test_the_digest_is_of_what_decides_the_image_and_of_nothing_else(tmp_path: Path) -> None:
    before = _digest(tmp_path)
    assert _digest(tmp_path / "elsewhere") == before
    (tmp_path / "mine" / "README.md").write_text("words")
    (tmp_path / "mine" / ".hidden").write_text("editor's")
    assert _digest(tmp_path, pins=PINS.replace('source = "us"', 'source = "others"')) == before
    assert _digest(tmp_path, pins=PINS.replace("verified = true", "verified = false")) == before
    changed = {
        _digest(tmp_path, dockerfile=DOCKERFILE + "RUN false\n"),
        _digest(tmp_path, pins=PINS.replace("1.2-3", "1.2-4")),
        _digest(tmp_path, pins=PINS.replace("1" * 64, "2" * 64)),
        _digest(tmp_path, recipe=RECIPE.replace("/usr/bin/hipcc", "/opt/hipcc")),
        _digest(tmp_path, recipe=RECIPE.replace("7.2.4", "7.2.5")),
    }
    assert len(changed | {before}) == 6


def test_a_mirror_of_the_same_base_changes_no_digest_and_another_base_does(tmp_path: Path) -> None:
    write_recipe(tmp_path)
    own = load_recipe("./mine", {}, rocm=None, root=tmp_path)
    mirrored = f"mirror.example.com:5000/base@sha256:{'1' * 64}"
    (mirror,) = every_recipe("./mine", tmp_path, mirrored)
    (other,) = every_recipe("./mine", tmp_path, "local/base:1")
    assert mirror.digest == own.digest != other.digest
    assert mirror.base.pulled == mirrored
    assert own.base.pulled == f"registry.example.com/base@sha256:{'1' * 64}"
    assert (mirror.overridden, own.overridden) == (True, False)


def test_a_base_without_a_digest_and_pins_that_nobody_resolved_are_not_verified(tmp_path: Path) -> None:
    write_recipe(tmp_path)
    own = load_recipe("./mine", {}, rocm=None, root=tmp_path)
    local = load_recipe("./mine", {"BASE": "local/base:1"}, rocm=None, root=tmp_path)
    write_recipe(tmp_path, pins=PINS.replace("verified = true", "verified = false"))
    doubtful = load_recipe("./mine", {}, rocm=None, root=tmp_path)
    assert unverified(own.base, own.pins) == ()
    assert unverified(local.base, local.pins) == ("base local/base:1",)
    assert unverified(doubtful.base, doubtful.pins) == ("base registry.example.com/base:1", "apt packages packages")


def test_pins_beside_matrix_yaml_count_instead_of_those_that_rocmatrix_came_with(tmp_path: Path) -> None:
    assert pins_path("debian", tmp_path) == pins_path("debian", ROOT)
    own = tmp_path / "containers" / "debian" / "pins.toml"
    own.parent.mkdir(parents=True)
    own.write_text(pins_path("debian", ROOT).read_text().replace("5.7.1-6+deb13u1", "5.7.1-7"))
    recipe = load_recipe("debian", {"SUITE": "trixie"}, rocm=None, root=tmp_path)
    assert b"hipcc=5.7.1-7\n" in recipe.context["pins/apt"]
    assert recipe.digest != load_recipe("debian", {"SUITE": "trixie"}, rocm=None, root=ROOT).digest
