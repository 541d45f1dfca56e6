"""The verb ``images``: no option is passed over in silence."""

import json
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from tests.unit.cli.conftest import MATRIX

MINE = MATRIX.replace('"7.1": llvm', '"7.1": {recipe: debian, args: {SUITE: forky}}')

COMPILED = """[torch]
src = ["torch-ext/binding.cpp"]
[kernel.k]
backend = "rocm"
depends = ["torch"]
src = ["torch-ext/k.hip"]
"""


@pytest.fixture
def debians(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose matrix.yaml chooses an image for a kernel with compiled code, and no engine."""
    (project / "matrix.yaml").write_text(MINE)
    manifest = project / "k" / "build.toml"
    manifest.write_text(manifest.read_text().replace("[torch-noarch]\n", COMPILED))
    for name in ("binding.cpp", "k.hip"):
        (project / "k" / "torch-ext" / name).write_text("")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    return project


def _listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    assert main(["images", "list", "--json", *words]) == 0
    rows = json.loads(capsys.readouterr().out)["images"]
    return [(row["args"].get("SUITE", ""), row["base"]) for row in rows if row["recipe"] == "debian"]


def test_the_image_that_builds_of_the_matrix_use_is_listed_also_on_a_base_of_its_own(
    debians: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = _listed(capsys)
    assert sorted(suite for suite, _ in ours) == ["forky", "trixie"], "one of ours is not listed twice"
    (debians / "matrix.yaml").write_text(MINE.replace("SUITE: forky", 'SUITE: forky, BASE: "local/base:1"'))
    assert _listed(capsys) == [("forky", "local/base:1"), *sorted(ours, reverse=True)]
    (debians / "matrix.yaml").unlink()
    assert sorted(_listed(capsys)) == sorted(ours)
    assert main(["images", "list", "--matrix", "other.yaml"]) == 2


def test_an_argument_that_no_image_of_the_matrix_has_is_refused_before_any_engine(
    debians: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert debians.is_dir()
    assert main(["images", "build", "--arg", "SUITE=trixie"]) == 2
    assert "no image has SUITE=trixie" in capsys.readouterr().err
    assert main(["images", "build", "--arg", "SUITE=forky"]) == 3
    assert "no docker engine is running" in capsys.readouterr().err
