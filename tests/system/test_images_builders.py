"""The recipe debian/forky by buildx and by the classic builder, in an engine of its own; only with ``--long``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.engine.connection import connect
from rocmatrix.machine.cache import cache_folder
from rocmatrix.records import BuildRecord
from rocmatrix.store import Store
from tests.system.docker_bed import base_name, debian_recipe, make_base, own_engine
from tests.system.test_images_buildx import plugin

__all__ = ["plugin"]
pytestmark = [pytest.mark.needs_debian_images, pytest.mark.needs_network]
ROOT = Path(__file__).parents[2]
LIMIT = 1500.0
SUITE = "forky"
MATRIX = f"""schema: 1
kernels: [{{path: kernels/gemm}}]
torch: ["2.13"]
rocm: ["7.2"]
archs: [gfx942]
toolchains: {{"7.2": {{recipe: debian, args: {{SUITE: {SUITE}, BASE: "{base_name(SUITE)}"}}}}}}
"""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What one builder's image is, and what it builds."""

    image: str
    recipe_digest: str
    compiler: str
    artifact: str


@pytest.fixture(scope="session", autouse=True)
def only_long(request: pytest.FixtureRequest) -> None:
    """Skip before the plugin is fetched: a session's fixtures come before those of a module."""
    if not request.config.getoption("--long"):
        pytest.skip("two images of a gigabyte are built; only with --long")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[None]:
    """An engine that has nothing but the base."""
    with own_engine(tmp_path / "engine") as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", made.host)
        client = connect()
        make_base(client, SUITE)
        client.close()
        yield


@pytest.mark.usefixtures("engine")
def test_both_builders_give_one_recipe_digest_one_compiler_and_the_same_bytes(tmp_path: Path) -> None:
    made = {builder: _made(tmp_path / builder, builder) for builder in ("buildx", "classic")}
    first, second = made["buildx"], made["classic"]
    assert first.image != second.image
    assert (first.recipe_digest, first.compiler) == (second.recipe_digest, second.compiler)
    assert first.recipe_digest == debian_recipe(SUITE).digest
    assert first.artifact == second.artifact


def _made(root: Path, builder: str) -> Made:
    """Build the image by one builder and gemm in it, and remove the image."""
    shutil.copytree(ROOT / "kernels/gemm", root / "kernels/gemm")
    (root / "matrix.yaml").write_text(MATRIX)
    said = json.loads(_run(root, "images", "build", "--builder", builder, "--json"))
    (row,) = said["images"]
    assert row["built"] is True
    _run(root, "build", "--engine", "docker")
    store = Store(root / "dist")
    (unit,) = store.read_plan().units
    record = store.read_record(unit.id, BuildRecord)
    assert isinstance(record, BuildRecord)
    assert record.toolchain is not None
    assert (record.toolchain.image_digest, record.artifact_digest is None) == (row["id"], False)
    client = connect()
    client.images.remove(row["id"], force=True)
    client.close()
    return Made(
        image=row["id"],
        recipe_digest=row["recipe_digest"],
        compiler=record.toolchain.description,
        artifact=str(record.artifact_digest),
    )


def _run(root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ROCMATRIX_CACHE": str(cache_folder())},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
