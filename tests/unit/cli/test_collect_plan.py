"""``rocmatrix collect`` holds the plan against matrix.yaml: what was promised there cannot vanish from plan.json."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.errors import ExitCode, InputError
from rocmatrix.project_listing import load_plan, require_current_plan
from rocmatrix.report.summary import MEANINGS
from tests.golden.content import PROJECTS
from tests.unit.cli.conftest import MATRIX, UNIT

Capture = pytest.CaptureFixture[str]
Plan = dict[str, list[dict[str, object]]]


def without_a_promise(plan: Plan) -> None:
    plan["cells"] = [cell for cell in plan["cells"] if cell["torch"] != "2.11"]


def without_anything(plan: Plan) -> None:
    plan["cells"], plan["units"] = [], []


def out_of_the_folder(plan: Plan) -> None:
    plan["units"][0]["variant"] = "../../../../escaped"


def twice(plan: Plan) -> None:
    plan["units"] *= 2


def of_a_unit_that_is_none(plan: Plan) -> None:
    plan["cells"][0]["unit"] = "nobody"


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_a_promise, "it lacks the cell 'tiny.torch2.11-rocm7.0'"),
        (without_anything, "it lacks the cell 'tiny.torch2.10-rocm7.0'"),
        (out_of_the_folder, "'../../../../escaped' cannot name a folder"),
        (twice, f"'{UNIT}' is there twice"),
        (of_a_unit_that_is_none, "'tiny.torch2.10-rocm7.0' names 'nobody', which is not there"),
    ],
)
def test_another_plan_is_refused_before_anything_is_written(
    project: Path, capsys: Capture, change: Callable[[Plan], None], said: str, *, merged: bool
) -> None:
    assert main(["run", "-q"]) == 0
    path = project / "dist/plan.json"
    plan: Plan = json.loads(path.read_text())
    change(plan)
    path.write_text(json.dumps(plan))
    shutil.rmtree(project / "dist/kernels")
    capsys.readouterr()
    assert main(["collect", *(["--out", "merged", "--from", "dist"] if merged else [])]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert "dist/plan.json" in printed
    assert not (project / "dist/kernels").exists()
    assert not (project / "merged").exists()
    assert not [path for path in (project, *project.parents[:4]) if (path / "escaped").exists()]


@pytest.mark.usefixtures("project")
def test_a_matrix_that_promises_more_than_what_was_built_for_is_refused(project: Path, capsys: Capture) -> None:
    assert main(["run", "-q"]) == 0
    (project / "matrix.yaml").write_text(f"# of another line\n{MATRIX}")
    assert main(["collect", "-q"]) == 0, "the line of a toolchain is no promise"
    (project / "matrix.yaml").write_text(MATRIX.replace('"2.11"]', '"2.11", "2.12"]'))
    capsys.readouterr()
    assert main(["collect"]) == 2
    assert "it lacks the cell 'tiny.torch2.12-rocm7.1'" in capsys.readouterr().err
    assert main(["run", "-q"]) == 0


def test_a_plan_with_a_toolchain_of_the_command_line_is_the_one_of_matrix_yaml(project: Path) -> None:
    (project / "k/build.toml").write_text(PROJECTS["kernels/scale"])
    (project / "k/scale.hip").write_text("// never compiled\n")
    matrix = project / "matrix.yaml"
    for toolchain in (None, "hipcc"):
        planned = load_plan(matrix, toolchain=toolchain)
        require_current_plan(planned, matrix, where="plan.json")
    mixed = replace(planned, toolchains=(planned.toolchains[0], *load_plan(matrix, toolchain=None).toolchains[1:]))
    with pytest.raises(InputError, match=r"it lacks the toolchain 'hipcc-rocm7\.1'"):
        require_current_plan(mixed, matrix, where="plan.json")


@pytest.mark.parametrize("verb", ["audit", "check", "wheel", "sbom"])
@pytest.mark.parametrize("change", [out_of_the_folder, twice, of_a_unit_that_is_none])
def test_no_stage_takes_a_plan_that_no_planner_makes(
    project: Path, capsys: Capture, change: Callable[[Plan], None], verb: str
) -> None:
    assert main(["plan"]) == 0
    path = project / "dist/plan.json"
    plan: Plan = json.loads(path.read_text())
    change(plan)
    path.write_text(json.dumps(plan))
    capsys.readouterr()
    assert main([verb]) == 2
    assert f"{path.relative_to(project)}" in capsys.readouterr().err


def build_failed(unit: Path) -> None:
    shutil.rmtree(unit / "payload")


def audit_failed(unit: Path) -> None:
    (unit / "audit.json").unlink()


def check_failed(unit: Path) -> None:
    record = json.loads((unit / "check.json").read_text())
    (unit / "check.json").write_text(json.dumps(record | {"outcome": "failed"}))


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (build_failed, 4, MEANINGS[ExitCode.BUILD]),
        (audit_failed, 5, MEANINGS[ExitCode.AUDIT]),
        (check_failed, 6, MEANINGS[ExitCode.CHECK]),
    ],
)
def test_an_incomplete_set_ends_with_the_code_of_the_stage_that_is_to_blame(
    project: Path, capsys: Capture, change: Callable[[Path], None], code: int, said: str
) -> None:
    assert main(["run", "-q"]) == 0
    change(project / "dist/units" / UNIT)
    capsys.readouterr()
    assert main(["collect"]) == code
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"exit code {code}: {said}")
