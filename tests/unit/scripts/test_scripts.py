"""The parts of the scripts that are plain functions, and the promise that an old Python can read their first lines."""

import ast
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from private_environment import REPOSITORY
from private_environment.cpu_torch import Wheel, read_choice, wheels_of, why_not_cpu
from private_environment.linters import linters
from private_environment.machine import how_to_get_pip, require_linux_x86_64, size
from private_environment.test_run import pytest_arguments

from rocmatrix.errors import MissingRequirementError


@pytest.mark.parametrize("name", ["build_matrix.py", "run_tests.py", "oldest_python.py"])
def test_an_old_python_can_parse_the_scripts(name: str) -> None:
    tree = ast.parse((REPOSITORY / "scripts" / name).read_text(encoding="utf-8"), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.arg, ast.NamedExpr, ast.Starred, ast.Match)
    assert not [ast.dump(node) for node in ast.walk(tree) if isinstance(node, newer)]


def test_what_runs_before_anything_is_installed_needs_the_standard_library_alone() -> None:
    code = "import private_environment.main_job, private_environment.test_run, sys; print(*sys.modules)"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(REPOSITORY / 'scripts')!r}); {code}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    ours = {"private_environment", "rocmatrix"}
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - ours - set(sys.stdlib_module_names) == {"__main__"} - set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ({"ID": "debian"}, "apt-get install python3-venv"),
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, "apt-get install python3-venv"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "dnf install python3-pip"),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "zypper install python3-pip"),
        ({"ID": "unheard-of"}, "your distribution's package"),
    ],
)
def test_the_package_to_install_is_the_distributions_own(
    release: dict[str, str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert how_to_get_pip().startswith(command)


def test_another_machine_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(MissingRequirementError, match="this is a 64-bit Python on Linux aarch64"):
        require_linux_x86_64()


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (101_142_528, "101.1 MB"), (2 * 10**9, "2.0 GB")],
)
def test_sizes_are_decimal_as_pip_prints_them(number: int, text: str) -> None:
    assert size(number) == text


def wheel(version: str, *requires: str) -> Wheel:
    return Wheel(version=version, url="file:///torch.whl", sha256="0" * 64, requires=requires)


def test_only_a_cpu_build_of_torch_is_taken() -> None:
    assert why_not_cpu(wheel("2.13.0+cpu", "filelock", "sympy>=1.13.3")) is None
    assert "does not say +cpu" in str(why_not_cpu(wheel("2.13.0")))
    assert "does not say +cpu" in str(why_not_cpu(wheel("2.13.0+cu130")))
    assert "asks for nvidia" in str(why_not_cpu(wheel("2.13.0+cpu", "nvidia-cublas==13.0")))


def test_a_wheel_without_a_hash_is_no_choice() -> None:
    report = '{"install": [{"download_info": {"url": "file:///t.whl"}, "metadata": {"version": "2.13.0+cpu"}}]}'
    assert list(wheels_of(report)) == []


def test_the_torch_of_the_tests_is_a_cpu_build_and_pips_configuration_comes_last() -> None:
    choice = read_choice(REPOSITORY / "requirements" / "torch.toml")
    assert choice.version.endswith("+cpu")
    assert choice.places[-1] == ()
    assert all("--retries=0" in place for place in choice.places[:-1])


def test_pytest_gets_all_tests_the_unit_tests_or_the_paths_that_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text("")
    assert pytest_arguments(["-x"], fast=False) == ["-x", str(REPOSITORY / "tests")]
    assert pytest_arguments(["-k", "name"], fast=True) == ["-k", "name", str(REPOSITORY / "tests" / "unit")]
    assert pytest_arguments(["test_it.py::test_a", "-q"], fast=True) == [f"{tmp_path}/test_it.py::test_a", "-q"]


def test_workflow_linters_come_with_the_workflows(tmp_path: Path) -> None:
    assert [linter.command[0] for linter in linters(tmp_path)] == ["ruff", "ruff", "mypy", "lint-imports"]
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "ci.yml").write_text("")
    assert [linter.command[0] for linter in linters(tmp_path)][4:] == ["check-jsonschema", "actionlint", "zizmor"]


def test_shell_scripts_of_recipes_have_a_linter_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "containers" / "mine").mkdir(parents=True)
    (tmp_path / "containers" / "mine" / "install.sh").write_text("")
    (added,) = [linter for linter in linters(tmp_path) if linter.command == ("shellcheck",)]
    assert [file.name for file in added.files] == ["install.sh"]
