"""Groups of tests that a machine cannot run: tests/conftest.py, tried on tests of its own in another pytest."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CONFTEST = REPOSITORY / "tests" / "conftest.py"
PYTEST = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
TESTS = """\
import pytest

@pytest.mark.needs_torch
def test_torch(): pass

@pytest.mark.needs_torch
def test_torch_too(): pass

def test_plain(): pass
"""
MARKERS = "".join(f"  {marker}\n" for marker in PYTEST["markers"])
# Whatever is installed beside these tests, the other pytest finds no torch: its metadata are what is looked at.
NO_TORCH = """\
import importlib.metadata

def version(name, real=importlib.metadata.version):
    if name == "torch":
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)

importlib.metadata.version = version
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "no_torch.py").write_text(NO_TORCH)
    (folder / "test_sample.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n{MARKERS}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no_torch",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        *arguments,
    ]
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])  # conftest.py uses other modules of the tests
    variables = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=60)


def test_a_group_without_its_need_is_skipped_and_named_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCMATRIX_NO_TORCH", "no CPU build of torch was found")
    done = run(tmp_path)
    assert done.returncode == 0
    assert "1 passed, 2 skipped" in done.stdout
    assert "not run: 2 tests of group needs_torch: no CPU build of torch was found" in done.stdout


@pytest.mark.parametrize("option", ["--require-all", "--require-group=needs_torch"])
def test_a_required_group_fails_with_the_reason(option: str, tmp_path: Path) -> None:
    done = run(tmp_path, option)
    assert done.returncode == 1
    assert "1 passed, 2 errors" in done.stdout
    assert "needs_torch: torch is not installed" in done.stdout


def test_another_required_group_changes_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "--require-group=needs_llvm").returncode == 0
