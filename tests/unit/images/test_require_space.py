"""The free space of an engine's disk is asked for where it can be seen, and nothing stops where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.building import require_space
from rocmatrix.images.loading import load_recipe
from tests.unit.images.folders import RECIPE, write_recipe

if TYPE_CHECKING:
    from docker import DockerClient


class Engine:
    """Says where an engine keeps its data."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def info(self) -> dict[str, str]:
        return {"DockerRootDir": str(self._root)}


def _ask(root: Path, data: Path) -> None:
    write_recipe(root, recipe=RECIPE.replace("build-gigabytes = 0.001", "build-gigabytes = 1000"))
    require_space(cast("DockerClient", Engine(data)), load_recipe("./mine", {}, rocm=None, root=root))


def test_a_disk_that_this_user_cannot_see_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(MissingRequirementError, match=r"building mine .* takes 1000\.0 GB"):
        _ask(tmp_path, tmp_path)
    _ask(tmp_path, tmp_path / "nowhere")
    _ask(tmp_path, tmp_path / ("n" * 300))  # for root too the system says an error, as it does for a folder of another
