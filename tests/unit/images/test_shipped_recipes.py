"""The recipes that come with rocmatrix, held to what their data says: names, versions, users, certificates, words."""

import re
import subprocess
from pathlib import Path

import pytest

from rocmatrix.images.context import CERTIFICATES
from rocmatrix.images.loading import every_recipe
from rocmatrix.images.pins import PinKind
from rocmatrix.images.recipe import Recipe
from rocmatrix.plan.audit_choice import AUDIT_RULES
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.matrix_model import RECIPES as RECIPE_NAMES
from rocmatrix.plan.matrix_model import SHIPPED

ROOT = Path(__file__).parents[3]
RECIPES = [recipe for name in SHIPPED for recipe in every_recipe(name, ROOT)]
NOT_BUILT_HERE = ("almalinux", "therock")
UNRESOLVED = ("rocm-6.2.4",)
"""Sets of which only the names of packages are known."""


TOOLSETS = [recipe for recipe in RECIPES if recipe.name != "debian"]
"""Recipes on an old distribution, whose compiler takes the C++ library of a newer gcc."""


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.label)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    assert isinstance(request.param, Recipe)
    return request.param


def _script(recipe: Recipe) -> str:
    return recipe.context["install.sh"].decode()


def _dockerfile(recipe: Recipe) -> list[str]:
    lines = recipe.context["Dockerfile"].decode().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_package_comes_from_the_data_and_none_is_named_in_a_script(recipe: Recipe) -> None:
    """What a package manager is told to install is a list that was read from pins, a file of it, or a checked file."""
    installing = re.findall(r"(?:apt_get|apt-get|dnf|yum|microdnf|pip_install|pip) install\b(.*)", _script(recipe))
    installing += re.findall(r"^(?:dnf_install|pip_install) (.*)$", _script(recipe), re.MULTILINE)
    assert installing
    for words in installing:
        named = [word for word in words.rstrip("\\").split() if not word.startswith("-")]
        allowed = re.compile(
            r'"\$@"|"\$\{distribution\[@\]\}"|\$\(cat|/context/(apt|dnf|pip|pypi)\)?|\./\*\.rpm|"\$PIP_ADDRESS"'
        )
        assert [word for word in named if not allowed.fullmatch(word)] == []
    assert not any(re.search(r"\b(apt-get|apt|dnf|yum|pip|curl|wget)\b", line) for line in _dockerfile(recipe))


def test_every_set_of_pins_is_read_by_the_script_and_every_one_that_it_reads_is_there(recipe: Recipe) -> None:
    there = {path.removeprefix("pins/") for path in recipe.context if path.startswith("pins/")}
    read = set(re.findall(r"/context/(apt|dnf|rpm|pip|pypi)\b", _script(recipe)))
    assert read == there


def test_no_version_stands_in_a_dockerfile_or_script(recipe: Recipe) -> None:
    text = "\n".join([*_dockerfile(recipe), _script(recipe)])
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    assert re.findall(r"\d+\.\d+\.\d+[\w.+~-]*", text) == []


def test_the_image_runs_as_an_ordinary_user_and_has_no_program_that_makes_it_root(recipe: Recipe) -> None:
    assert "USER 1000:1000" in _dockerfile(recipe)
    assert "-perm /6000 -exec chmod ug-s" in _script(recipe)


def test_certificates_go_into_a_stage_that_is_not_in_the_image(recipe: Recipe) -> None:
    lines = _dockerfile(recipe)
    if not any("certificates" in line for line in lines):
        assert CERTIFICATES.rpartition("/")[2] not in _script(recipe)
        return
    last = max(index for index, line in enumerate(lines) if line.startswith("FROM "))
    assert lines[last] == "FROM scratch"
    assert not any("certificates" in line for line in lines[last:])
    assert 'rm "$ANCHOR"' in _script(recipe)


def test_no_proxy_is_written_down(recipe: Recipe) -> None:
    text = "\n".join([*_dockerfile(recipe), _script(recipe)])
    assert re.findall(r"(?i)(?:ARG|ENV).*proxy|proxy\s*=", text) == []


def test_libnuma_is_there_by_its_bare_name(recipe: Recipe) -> None:
    """torch's ROCm wheels open ``libnuma.so``: only development packages have that name (pytorch#189110)."""
    packages = {name for one in recipe.pins for name in one.packages}
    assert packages & {"numactl-devel", "libnuma-dev"}


@pytest.mark.parametrize("recipe", TOOLSETS, ids=lambda recipe: recipe.label)
def test_the_compiler_library_of_the_toolset_is_chosen_and_tried(recipe: Recipe) -> None:
    assert "--gcc-toolchain=" in _script(recipe)
    assert "rocm.cfg" in _script(recipe)
    assert "Selected GCC installation: $" in _script(recipe)


def test_rocm_device_libs_are_named_for_every_image_with_packages_of_amds(recipe: Recipe) -> None:
    names = [name for one in recipe.pins for name in one.packages]
    if recipe.name == "therock":
        assert "rocm-sdk-devel" in names
    else:
        assert any(re.match(r"rocm-device-libs(-\d|$)", name) for name in names)
        assert any(name.startswith("hipcc") for name in names)


def test_files_have_a_checksum_and_the_script_checks_all_of_them(recipe: Recipe) -> None:
    for one in recipe.pins:
        if one.kind is PinKind.RPM:
            assert bool(one.unresolved) == (one.name in UNRESOLVED)
            for file, sha256 in one.packages.items():
                assert one.name in UNRESOLVED or (file.endswith(".rpm") and re.fullmatch(r"[0-9a-f]{64}", sha256))
            assert "sha256sum --check --strict /context/rpm" in _script(recipe)
            assert recipe.args["ROCM_VERSION"] in one.address


def test_what_was_never_built_or_downloaded_is_not_called_verified(recipe: Recipe) -> None:
    if recipe.name in NOT_BUILT_HERE:
        assert not recipe.base.provenance.verified
        assert not any(one.provenance.verified for one in recipe.pins if one.kind is not PinKind.PYPI)


def test_an_image_builds_for_rocm_minors_that_compat_knows(recipe: Recipe) -> None:
    known = {minor for row in load_compat().pairs for minor in row.rocm}
    assert set(recipe.hip) <= known
    assert bool(recipe.hip) == recipe.releasable


def test_findings_that_are_expected_name_rules_that_there_are_and_none_is_in_what_is_released(recipe: Recipe) -> None:
    assert {one.rule for one in recipe.expected_findings} <= set(AUDIT_RULES)
    assert bool(recipe.expected_findings) == (not recipe.releasable)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_readme_says_what_was_built_and_how_large_it_is(name: str) -> None:
    text = (ROOT / "containers" / name / "README.md").read_text()
    assert ("**Not built here.**" in text) == (name in NOT_BUILT_HERE)
    if name in NOT_BUILT_HERE:
        assert "26 GB" in text
    versions = {value for recipe in RECIPES if recipe.name == name for value in recipe.args.values()}
    assert all(version in text for version in versions)


@pytest.mark.parametrize("script", sorted((ROOT / "containers").glob("*/*.sh")), ids=lambda path: path.parent.name)
def test_shell_scripts_parse_and_stop_at_the_first_failure(script: Path) -> None:
    first, *rest = script.read_text().splitlines()
    shell = first.removeprefix("#!/bin/")
    checked = subprocess.run((shell, "-n", str(script)), capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert any(re.fullmatch(r"set -eux(o pipefail)?", line) for line in rest)


def test_every_recipe_that_comes_with_rocmatrix_is_one_that_plans_know() -> None:
    assert {path.parent.name for path in (ROOT / "containers").glob("*/recipe.toml")} == set(SHIPPED)
    assert set(SHIPPED) < set(RECIPE_NAMES)
