"""``rocmatrix --help`` is quick: nothing heavy is imported until a verb needs it."""

import subprocess
import sys

import pytest

HEAVY = (
    "git",
    "huggingface_hub",
    "kernels",
    "ml_dtypes",
    "msgspec",
    "numpy",
    "remotezip",
    "rich",
    "torch",
    "yaml",
    "ziglang",
)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["doctor", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    script = (
        "import sys; from rocmatrix.cli.main import main; code = main(sys.argv[1:]); "
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, timeout=60
    )
    imported = set(done.stderr.split())
    assert "argparse" in imported
    assert not imported & set(HEAVY)


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("rocmatrix ")
