"""Bills of materials: valid by CycloneDX's own schema, complete, and the same for the same ingredients."""

import base64
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rocmatrix.errors import InputError
from rocmatrix.records import BuildRecord
from rocmatrix.sbom.stage import NAME, write_bills
from tests.golden.content import HEADERS, IDENTITY
from tests.system.release_source import Source, make_source

IMAGE = "sha256:" + "1d" * 32
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A collected kernel, one of whose variants was built in a container."""
    made = make_source(tmp_path_factory.mktemp("source"))
    unit = next(unit for unit in made.plan.units if unit.variant == VARIANT)
    build = made.store.read_record(unit.id, BuildRecord)
    assert isinstance(build, BuildRecord)
    made.store.write_record(replace(build, toolchain=replace(IDENTITY, image_digest=IMAGE)))
    return made


@pytest.fixture(scope="module")
def bill(source: Source) -> dict[str, Any]:
    (written,) = write_bills(source.plan, store=source.store, folder=None)
    found: dict[str, Any] = json.loads(Path(written.path).read_bytes())
    return found


def properties(component: dict[str, Any]) -> dict[str, str]:
    return {each["name"].removeprefix("rocmatrix:"): each["value"] for each in component["properties"]}


def test_a_bill_is_valid_by_the_strict_schema(source: Source, bill: dict[str, Any]) -> None:
    text = (source.store.kernel_folder("scale") / NAME).read_text()
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    bill["components"][0]["type"] = "no such type"
    assert validator.validate_str(json.dumps(bill)) is not None, "the schema refuses something at all"
    bill["components"][0]["type"] = json.loads(text)["components"][0]["type"]


def test_every_published_file_is_in_it_with_its_digest(source: Source, bill: dict[str, Any]) -> None:
    variants = {each["name"]: each for each in bill["components"] if each["bom-ref"].startswith("variant:")}
    metadata = source.wanted().expectations.content.metadata
    assert variants.keys() == metadata.keys()
    for name, variant in variants.items():
        found = {file["name"]: file["hashes"] for file in variant["components"]}
        assert found == {
            path: [{"alg": "SHA-256", "content": base64.b64decode(digest).hex()}]
            for path, digest in metadata[name].digest.files.items()
        }
        (binary,) = [file for file in variant["components"] if file["name"].endswith(".so")]
        assert "libamdhip64.so." in properties(binary)["needed"]
        assert properties(variant)["tested"].startswith("untested: ")


def test_it_names_sources_compilers_image_and_torch_headers(source: Source, bill: dict[str, Any]) -> None:
    by_reference = {each["bom-ref"]: each for each in bill["components"]}
    graph = {each["ref"]: set(each.get("dependsOn", ())) for each in bill["dependencies"]}
    made = [by_reference[reference] for reference in graph[f"variant:{VARIANT}"]]
    named = {(each["type"], each["name"]): each for each in made}
    assert named.keys() == {
        ("application", "clang"),
        ("application", "ziglang"),
        ("container", "llvm"),
        ("data", "kernels/scale"),
        ("library", "torch"),
    }
    assert named["application", "clang"]["version"] == "22.1.8"
    assert properties(named["application", "clang"])["recipe-digest"] == IDENTITY.recipe_digest
    assert named["container", "llvm"]["hashes"] == [{"alg": "SHA-256", "content": IMAGE.removeprefix("sha256:")}]
    assert named["data", "kernels/scale"]["version"] == source.wanted().source_commit
    assert named["library", "torch"]["purl"] == "pkg:pypi/torch@2.13.0"
    wheel = [{"alg": "SHA-256", "content": HEADERS.wheel_digest.removeprefix("sha256:")}]
    assert named["library", "torch"]["hashes"] == wheel
    others = {by_reference[each]["type"] for each in graph[f"variant:{VARIANT.replace('72', '71')}"]}
    assert "container" not in others, "the other variant was built on the host"
    root = bill["metadata"]["component"]
    assert (root["group"], root["name"]) == ("acme", "scale")
    assert graph[root["bom-ref"]] == {each for each in by_reference if each.startswith("variant:")}


def test_the_same_ingredients_give_the_same_bill(source: Source, tmp_path: Path) -> None:
    first, second = (write_bills(source.plan, store=source.store, folder=tmp_path / name)[0] for name in "ab")
    assert first.digest == second.digest


def test_the_time_is_that_of_the_last_build_or_of_the_environment(
    source: Source, tmp_path: Path, bill: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bill["metadata"]["timestamp"] == "2026-11-29T00:00:00+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    (dated,) = write_bills(source.plan, store=source.store, folder=tmp_path)
    assert json.loads(Path(dated.path).read_bytes())["metadata"]["timestamp"] == "1970-01-01T00:00:00+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "now")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is no time"):
        write_bills(source.plan, store=source.store, folder=tmp_path)


def test_without_records_there_is_no_bill(tmp_path: Path) -> None:
    made = make_source(tmp_path, rocms=["7.2"])
    (made.store.unit_folder(made.plan.units[0].id) / "build.json").write_text("{}")
    words = ("--matrix", str(made.root / "matrix.yaml"), "--out", str(made.store.root))
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "sbom", *words],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert "no record says what it is made of: build.json cannot be read" in done.stderr
    assert not list(made.store.root.rglob("*.cdx.json"))
