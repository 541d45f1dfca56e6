"""The JSON Schema of build.toml is the shipped one, takes what the parser takes and marks what one value can show."""

import json
import tomllib

import jsonschema
import pytest

from rocmatrix.document import to_json
from rocmatrix.errors import InputError
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.manifest_schema import manifest_schema, shipped_schema
from tests.unit.plan.samples import NOARCH, PER_TORCH, STABLE
from tests.unit.plan.test_manifest import FULL
from tests.unit.plan.test_manifest_agreement import SAME, STRICTER

VALIDATOR = jsonschema.Draft202012Validator(json.loads(shipped_schema()))
EDITION_5 = {name: text for name, text in {**SAME, **STRICTER}.items() if "edition = 5" in text}
BEYOND = {
    "byte order mark": "is gone when TOML has been read",
    "license a date": "is no JSON",
    "edition as float": "is 5 to JSON Schema",
    "version float": "is 1 to JSON Schema",
    "name newline": "is nothing to Python's $, and to that of editors it is",
    "sources that differ in case": "takes two values to see",
    "source twice in two spellings": "takes two values to see",
    "flag that does not print": "takes Unicode's tables",
    "bounds that leave no version": "takes two values to see",
    "harmful": "is asked of every value, whatever its key",
    "branch that no branch can be": "takes two rules",
    "upstream": "takes the rules of URLs",
}
"""Beginnings of the cases that the schema does not tell, and why."""


def is_valid(text: str) -> bool:
    return not any(VALIDATOR.iter_errors(tomllib.loads(text)))


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert shipped_schema() == to_json(manifest_schema()), "run `python -m rocmatrix.plan.manifest_schema`"


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped_schema()))


@pytest.mark.parametrize("text", [FULL, *(text.replace("{name}", "gemm") for text in (STABLE, PER_TORCH, NOARCH))])
def test_what_the_parser_takes_is_valid(text: str) -> None:
    assert is_valid(text)


@pytest.mark.parametrize("name", [name for name in EDITION_5 if not any(name.startswith(one) for one in BEYOND)])
def test_schema_and_parser_say_the_same(name: str) -> None:
    try:
        parse_manifest(EDITION_5[name].encode(), "build.toml")
        taken = True
    except InputError:
        taken = False
    assert is_valid(EDITION_5[name]) == taken
