"""Schemas of operators, as extensions register them."""

import pytest

from rocmatrix.emulator.host.schema import Parameter, parse_schema
from rocmatrix.emulator.reports import UnsupportedError


def parameter(
    name: str, kind: str, *, optional: bool = False, mutable: bool = False, default: str | None = None
) -> Parameter:
    return Parameter(name=name, type=kind, optional=optional, mutable=mutable, default=default)


def test_the_schemas_of_the_gemm() -> None:
    schema = parse_schema("gemm_out(Tensor a, Tensor b, Tensor! out) -> ()")
    assert schema.name == "gemm_out"
    assert schema.parameters == (
        parameter("a", "Tensor"),
        parameter("b", "Tensor"),
        parameter("out", "Tensor", mutable=True),
    )
    assert schema.returns == ()


def test_annotations_optionals_lists_defaults_and_keyword_only() -> None:
    schema = parse_schema(
        "f.o(Tensor(a!) x, Tensor? y=None, int[2] size=[1, 2], *, float s=1.5, bool b=True) -> (Tensor(a!), Tensor)"
    )
    assert schema.name == "f.o"
    assert schema.parameters == (
        parameter("x", "Tensor", mutable=True),
        parameter("y", "Tensor", optional=True, default="None"),
        parameter("size", "int[2]", default="[1, 2]"),
        parameter("s", "float", default="1.5"),
        parameter("b", "bool", default="True"),
    )
    assert schema.returns == ("Tensor", "Tensor")


def test_named_returns_and_none() -> None:
    assert parse_schema("f() -> (Tensor out, int n)").returns == ("Tensor", "int")
    assert parse_schema("f() -> Tensor").returns == ("Tensor",)


@pytest.mark.parametrize("text", ["f", "f(Tensor) -> Tensor", "f(Tensor x)", "(Tensor x) -> Tensor", ""])
def test_what_is_no_schema_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(UnsupportedError, match="schema"):
        parse_schema(text)
