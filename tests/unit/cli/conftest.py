"""A project without compiled code: the whole main job on it takes no compiler and no network."""

from pathlib import Path

import pytest

import rocmatrix

MATRIX = """schema: 1
kernels: [k]
torch: ["2.10", "2.11"]
rocm: ["7.0", "7.1"]
archs: [gfx942]
toolchains: {"7.0": llvm, "7.1": llvm}
"""

MANIFEST = """[general]
name = "tiny"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]

[general.hub]
repo-id = "somebody/tiny"

[torch-noarch]
"""

UNIT = "tiny.torch-rocm"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of such a project, which is the current folder."""
    package = tmp_path / "k" / "torch-ext" / "tiny"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "k" / "build.toml").write_text(MANIFEST)
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROCMATRIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(Path(rocmatrix.__file__).parents[1]))  # for processes in that folder
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path
