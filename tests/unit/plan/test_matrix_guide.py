"""docs/matrix.md: its examples can be planned, and between them they use every key that there is."""

import re
from pathlib import Path

import pytest
import yaml

from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.matrix_schema import matrix_schema
from rocmatrix.plan.model import CellState
from tests.unit.plan.guide import key_paths, uses
from tests.unit.plan.samples import STABLE, plan_of

GUIDE = (Path(__file__).parents[3] / "docs" / "matrix.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == GUIDE.count("```yaml") == 4


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_can_be_planned(example: str) -> None:
    matrix = parse_matrix(example.encode(), "matrix.yaml")
    plan = plan_of(example, {entry.path: STABLE for entry in matrix.kernels})
    assert all(cell.state is not CellState.REFUSED for cell in plan.cells)


def test_every_key_is_in_the_table() -> None:
    keys = matrix_schema()["properties"]
    assert isinstance(keys, dict)
    rows = set(re.findall(r"^\| `([a-z]+)[.a-z-]*` \|", GUIDE, re.MULTILINE))
    assert rows == set(keys)


def test_every_key_is_in_an_example() -> None:
    schema = matrix_schema()
    examples = [yaml.safe_load(example) for example in EXAMPLES]
    paths = set(key_paths(schema, schema))
    assert ("kernels", "[]", "archs") in paths
    assert {path for path in paths if not any(uses(example, path) for example in examples)} == set()
