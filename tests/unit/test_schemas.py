"""The shipped JSON Schemas are those of the dataclasses, and they describe what the store writes."""

import json

import jsonschema
import msgspec
import pytest

from rocmatrix import document, schemas
from rocmatrix.plan.model import Plan


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_a_shipped_schema_is_the_one_of_its_dataclass(name: str) -> None:
    assert schemas.shipped(name) == schemas.generate(name), "run `python -m rocmatrix.schemas`"


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_a_schema_is_valid_and_names_every_field(name: str) -> None:
    schema = json.loads(schemas.shipped(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    described = schema["$defs"][schemas.DOCUMENTS[name].__name__]["properties"]
    written = msgspec.inspect.type_info(schemas.DOCUMENTS[name])
    assert isinstance(written, msgspec.inspect.DataclassType | msgspec.inspect.StructType)
    assert set(described) == {field.encode_name for field in written.fields}


def test_a_written_plan_validates_against_its_schema(plan: Plan) -> None:
    jsonschema.validate(json.loads(document.to_json(plan)), json.loads(schemas.shipped("plan")))


def test_a_plan_with_a_misspelt_state_does_not_validate(plan: Plan) -> None:
    written = json.loads(document.to_json(plan))
    written["cells"][0]["state"] = "servd"
    with pytest.raises(jsonschema.ValidationError, match="servd"):
        jsonschema.validate(written, json.loads(schemas.shipped("plan")))
