"""Trees for the tests of setting up: one made with ensurepip and shared, and a quick one for each test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.bootstrap.index import Index, serve
from tests.system.bootstrap.tree import Tree, folder_with, make_tree, python_without_ensurepip


@pytest.fixture
def index() -> Iterator[Index]:
    with serve(Index()) as index:
        yield index


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python without ensurepip and pip."""
    return python_without_ensurepip(tmp_path_factory.mktemp("python"))


@pytest.fixture
def quick(tmp_path: Path, index: Index, interpreter: str) -> Tree:
    """Return a tree whose environments are seeded by uv, in a tenth of the time that ensurepip takes."""
    path = folder_with(tmp_path / "tools", "uv")
    return make_tree(tmp_path / "a tree", index, python=interpreter, path=path)


@pytest.fixture
def plain(tmp_path: Path, index: Index) -> Tree:
    """Return a tree on a machine with Python alone."""
    return make_tree(tmp_path / "a tree", index, python=sys.executable, path="/nonexistent")
