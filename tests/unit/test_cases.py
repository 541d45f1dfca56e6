"""Numerical cases: same seed, same arguments; layouts change memory and nothing else."""

import numpy as np
import pytest

from rocmatrix.cases import Array, Case, Layout, in_layout


def normal(generator: np.random.Generator) -> Array:
    return generator.standard_normal((3, 5))


def case(**changes: object) -> Case:
    values: dict[str, object] = {
        "name": "sum",
        "op": "add",
        "arguments": {"a": normal, "b": normal},
        "reference": lambda a, b: a + b,
        "rtol": 0.0,
        "atol": 0.0,
        "cost": 15.0,
    }
    return Case(**(values | changes))  # type: ignore[arg-type]  # a test changes any field


def test_the_same_seed_makes_the_same_arguments() -> None:
    first, second = case().make_arguments(), case().make_arguments()
    assert all(np.array_equal(first[name], second[name]) for name in ("a", "b"))
    assert not np.array_equal(first["a"], case(seed=1).make_arguments()["a"])


def test_each_argument_draws_from_a_generator_of_its_own() -> None:
    alone = case(arguments={"a": normal}).make_arguments()
    assert np.array_equal(alone["a"], case().make_arguments()["a"])
    made = case().make_arguments()
    assert not np.array_equal(made["a"], made["b"])


def test_a_transposed_argument_has_the_same_elements_in_the_other_order() -> None:
    plain, turned = case().make_arguments()["a"], case(layouts={"a": Layout.TRANSPOSED}).make_arguments()["a"]
    assert np.array_equal(plain, turned)
    assert plain.flags.c_contiguous
    assert turned.T.flags.c_contiguous


def test_a_vector_has_no_transposed_layout() -> None:
    with pytest.raises(ValueError, match="1 dimensions"):
        in_layout(np.zeros(3), Layout.TRANSPOSED)


def test_a_description_names_dtype_shape_and_layout() -> None:
    described = case(layouts={"b": Layout.TRANSPOSED}).describe()
    assert [(a.name, a.dtype, a.shape, a.layout) for a in described.arguments] == [
        ("a", "float64", (3, 5), "contiguous"),
        ("b", "float64", (3, 5), "transposed"),
    ]
