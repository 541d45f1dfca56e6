import io
import tarfile
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.images.building import build_arguments, labelled, read_certificates
from rocmatrix.images.context import CERTIFICATES, pack
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.options import BuildOptions, site_proxies
from tests.unit.images.folders import write_recipe

ROOT = Path(__file__).parents[3]
TAKES_CERTIFICATES = "ARG BASE\nFROM ${BASE} AS build\nCOPY certificates /c/\nFROM scratch\nCOPY --from=build / /\n"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


def test_the_same_files_are_the_same_bytes_with_certificates_beside_them() -> None:
    packed = pack({"b": b"2", "Dockerfile": b"1"}, b"PEM")
    assert packed == pack({"Dockerfile": b"1", "b": b"2"}, b"PEM")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        entries = {one.name: (one.mtime, one.uid, one.uname) for one in archive}
    assert entries == dict.fromkeys(("Dockerfile", "b", CERTIFICATES), (0, 0, ""))


def test_labels_are_one_instruction_and_cannot_be_expanded() -> None:
    made = labelled({"Dockerfile": b"FROM x\n"}, {"a": 'say "no"', "b": "$HOME"})
    assert made["Dockerfile"] == b'FROM x\nLABEL a="say \\"no\\"" b="HOME"\n'


def test_proxies_are_arguments_in_both_spellings_and_in_no_digest(tmp_path: Path) -> None:
    write_recipe(tmp_path)
    recipe = load_recipe("./mine", {}, rocm=None, root=tmp_path)
    options = BuildOptions(proxies=site_proxies({"HTTPS_PROXY": "http://p:3128", "no_proxy": "", "PATH": "/bin"}))
    arguments = build_arguments(recipe, options)
    assert arguments["https_proxy"] == arguments["HTTPS_PROXY"] == "http://p:3128"
    assert "no_proxy" not in arguments
    assert "PATH" not in arguments
    assert arguments["BASE"] == recipe.base.pulled


def test_addresses_of_files_and_indexes_are_arguments() -> None:
    recipe = load_recipe("almalinux", {"ROCM_VERSION": "7.2.4"}, rocm=None, root=ROOT)
    arguments = build_arguments(recipe, BuildOptions(proxies={}))
    assert arguments["RPM_ADDRESS"] == "https://repo.radeon.com/rocm/rhel8/7.2.4/main"
    assert arguments["ROCM_VERSION"] == "7.2.4"
    assert "DNF_ADDRESS" not in arguments


def test_certificates_must_be_some_and_the_recipe_must_take_them(tmp_path: Path) -> None:
    write_recipe(tmp_path, dockerfile=TAKES_CERTIFICATES)
    recipe = load_recipe("./mine", {}, rocm=None, root=tmp_path)
    assert read_certificates(recipe, None) == b""
    assert read_certificates(recipe, BUNDLE) == BUNDLE.read_bytes()
    none = tmp_path / "none.pem"
    none.write_text("-----BEGIN NOTHING-----\n")
    with pytest.raises(InputError, match="no certificates can be read"):
        read_certificates(recipe, none)
    write_recipe(tmp_path)
    with pytest.raises(InputError, match="takes no certificates"):
        read_certificates(load_recipe("./mine", {}, rocm=None, root=tmp_path), BUNDLE)


def test_a_link_out_of_the_folder_is_not_followed_and_one_within_it_is(tmp_path: Path) -> None:
    folder = write_recipe(tmp_path)
    (folder / "here").symlink_to("recipe.toml")
    assert load_recipe("./mine", {}, rocm=None, root=tmp_path).context["here"].startswith(b"schema = 1")
    (tmp_path / "config.json").write_text("token")
    (folder / "there").symlink_to("../config.json")
    with pytest.raises(InputError, match=r"mine/there: this is a link out of the recipe's folder"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)
    (folder / "there").unlink()
    (folder / "round").symlink_to("round")
    with pytest.raises(InputError, match="mine/round: the file cannot be read"):
        load_recipe("./mine", {}, rocm=None, root=tmp_path)
