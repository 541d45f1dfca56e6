"""Without the extras the verbs that need them say so, with exit code 3; nothing is imported that is not there."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rocmatrix
from rocmatrix.machine import Health
from rocmatrix.machine.extras import HUB, RELEASE, Extra, absent_modules, probe_extra

ROOT = Path(__file__).parents[3]
WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {(*RELEASE.modules, *HUB.modules)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from rocmatrix.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
NOTHING = Extra(name="release", modules=("rocmatrix_is_without_this",), needed_by="why")
PACKAGES = {"cyclonedx": "cyclonedx-python-lib", "jwt": "pyjwt[crypto]", "kernels": "kernels==0.17.2"}
"""Module -> what pyproject.toml asks for, where the names differ."""


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        ("why somebody/k --torch 2.13 --rocm 7.2", "release"),
        ("diff v1.0.0", "release"),
        ("release --tag v1.0.0", "release"),
        ("yank v1.0.0 --reason wrong", "release"),
        ("sbom", "release"),
        ("verify acme/k --signer nobody", "release"),
        ("rehearse --tag v1.0.0", "release,hub"),
    ],
)
def test_a_verb_without_its_extras_says_what_to_install(words: str, extras: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(rocmatrix.__file__).parents[1])},
    )
    assert done.returncode == 3, done.stderr
    verb = words.split(maxsplit=1)[0]
    assert f"`rocmatrix {verb}` needs the extra" in done.stderr
    assert f"pip install 'rocmatrix[{extras}]'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extra", [RELEASE, HUB])
def test_the_extras_are_those_of_the_package(extra: Extra) -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra.name]
    assert sorted(PACKAGES.get(module, module) for module in extra.modules) == sorted(asked)


def test_doctor_says_what_is_missing_for_which_verb() -> None:
    probe = probe_extra(NOTHING)
    assert (probe.health, probe.needed_by, probe.blocks_run) == (Health.MISSING, "why", False)
    assert probe.detail == "not installed: rocmatrix_is_without_this"
    assert probe.fix == "Run `pip install 'rocmatrix[release]'`."


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NOTHING.modules[0]).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert absent_modules(NOTHING) == NOTHING.modules
