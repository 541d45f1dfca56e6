"""docs/manifest.md: both parsers read its examples, which use every key that rocmatrix acts on."""

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from kernels._rust import Build

from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.manifest_schema import manifest_schema
from tests.unit.plan.guide import key_paths, uses

GUIDE = (Path(__file__).parents[3] / "docs" / "manifest.md").read_text()
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)

ONLY_READ = (
    *("general.upstream", "general.source", "general.python-depends", "general.kernel-depends", "general.hub.branch"),
    *("torch-noarch.cuda_capabilities", "torch.stable-abi."),
)
"""Beginnings of keys that decide nothing about a plan, and of those that are one value for all or one for each."""

OTHERS = ("general.cuda", "general.neuron", "general.xpu", "general.tpu", "tvm-ffi", "kernel.*.cuda", "kernel.*.sycl")
"""Beginnings of keys for what rocmatrix does not build."""


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == GUIDE.count("```toml") == 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_read_by_both_parsers_and_by_the_schema(example: str, tmp_path: Path) -> None:
    assert parse_manifest(example.encode(), "build.toml").warnings == ()
    (tmp_path / "build.toml").write_text(example)
    Build.open(tmp_path)
    jsonschema.Draft202012Validator(manifest_schema()).validate(tomllib.loads(example))


def test_every_key_that_is_acted_on_is_in_an_example() -> None:
    schema = manifest_schema()
    examples = [tomllib.loads(example) for example in EXAMPLES]
    paths = set(key_paths(schema, schema))
    assert ("kernel", "*", "rocm-archs") in paths
    missing = {".".join(path) for path in paths if not any(uses(example, path) for example in examples)}
    assert {key for key in missing if not key.startswith((*OTHERS, *ONLY_READ))} == set()
