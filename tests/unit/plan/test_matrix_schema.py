"""The JSON Schema for editors is the shipped one, takes what the parser takes and marks what one value can show."""

import json

import jsonschema
import pytest
import yaml

from rocmatrix.document import to_json
from rocmatrix.plan.matrix_schema import matrix_schema, shipped_schema
from tests.unit.plan.samples import MATRIX
from tests.unit.plan.test_matrix import FULL

VALIDATOR = jsonschema.Draft202012Validator(json.loads(shipped_schema()))


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert shipped_schema() == to_json(matrix_schema()), "run `python -m rocmatrix.plan.matrix_schema`"


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped_schema()))


@pytest.mark.parametrize("text", [MATRIX, FULL, MATRIX.replace("[gemm]", "[.]")])
def test_what_the_parser_takes_is_valid(text: str) -> None:
    assert list(VALIDATOR.iter_errors(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"2.12"', "2.10"),
        ('"2.12"', '"2.12.1"'),
        ('["2.12", "2.13"]', "[]"),
        ("[gfx942]", "[GFX942]"),
        ("archs:", "arch:"),
        ("schema: 1", "schema: 2"),
        ("[gemm]", "[../gemm]"),
        ("[gemm]", "[/gemm]"),
        ("[gemm]", "[a/../gemm]"),
        ("[gemm]", "[{repo-id: a/b}]"),
        ("[gemm]", "[{path: gemm, abi: Stable}]"),
        ("[gemm]", "[{path: gemm, repo-id: gemm}]"),
        ("[gemm]", "[{path: gemm, audit: {waive: [{rule: need, reason: x}]}}]"),
        ("[gemm]", "[{path: gemm, audit: {waive: [{rule: needed}]}}]"),
        ("[gemm]", "[{path: gemm, audit: {max-file-mb: 0}}]"),
        ('"7.1": llvm', '"7.1": lvm'),
        ('"7.1": llvm', '"7.1.1": llvm'),
        ('"7.1": llvm', '"7.1": ./../x'),
        ('"7.1": llvm', '"7.1": {args: {A: "1"}}'),
        ("schema: 1", "schema: 1\nexclude: [{reason: x}]"),
        ("schema: 1", 'schema: 1\ninclude: [{torch: "2.12"}]'),
        ("schema: 1", "schema: 1\ncheck: {runner: []}"),
        ("schema: 1", "schema: 1\ncheck: {images: {torch2.13: a}}"),
        ("schema: 1", "schema: 1\nrelease: {allow-toolchains: [docker]}"),
    ],
)
def test_a_mistake_is_marked(old: str, new: str) -> None:
    assert old in MATRIX
    assert list(VALIDATOR.iter_errors(yaml.safe_load(MATRIX.replace(old, new, 1))))
