"""Every verb on a real project: what people see, what programs read, how it ends."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix import schemas
from rocmatrix.cli.main import main
from tests.unit.cli.conftest import MATRIX, UNIT

Capture = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("project")
def test_plan_shows_the_grid_and_writes_the_plan(project: Path, capsys: Capture) -> None:
    assert main(["plan"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"  A  {UNIT}" in out.splitlines()
    assert out.splitlines()[-1] == "4 cells: 3 served, 1 refused; 1 unit to build"
    assert json.loads((project / "dist" / "plan.json").read_text())["units"][0]["id"] == UNIT


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("words", [["--json"], ["--format", "json"]])
def test_plan_as_json_is_the_plan_as_it_was_written(words: list[str], project: Path, capsys: Capture) -> None:
    assert main(["plan", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (project / "dist" / "plan.json").read_text()


@pytest.mark.usefixtures("project")
def test_plan_shows_people_only_what_was_selected_and_writes_all_of_it(project: Path, capsys: Capture) -> None:
    assert main(["plan", "--only", "*torch-rocm"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 cells: 3 served; 1 unit to build"
    assert len(json.loads((project / "dist" / "plan.json").read_text())["cells"]) == 4


@pytest.mark.usefixtures("project")
def test_plan_for_github_is_one_line_with_rows(capsys: Capture) -> None:
    assert main(["plan", "--format", "github", "--max-jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    (row,) = json.loads(out)["include"]
    assert row["units"] == [UNIT]
    assert set(row) == {"id", "name", "toolchain", "runner", "units"}


@pytest.mark.usefixtures("project")
def test_run_does_the_main_job_and_says_what_came_of_it(project: Path, capsys: Capture) -> None:
    assert main(["run"]) == 0
    out, err = capsys.readouterr()
    assert f"build   done      {UNIT}" in err
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("A untested: ") for line in lines)
    assert "dist/kernels/tiny/build tiny: what goes to the Hub" in lines
    assert lines[-1].startswith("run: 4 cells: 3 served, 1 refused; 1 unit: 1 built; ")
    assert lines[-1].endswith("; done")
    assert (project / "dist" / "kernels" / "tiny" / "build" / "torch-rocm" / "metadata.json").is_file()


@pytest.mark.usefixtures("project")
def test_a_second_run_reuses_and_explains(capsys: Capture) -> None:
    main(["run"])
    capsys.readouterr()
    assert main(["run", "--explain"]) == 0
    out = capsys.readouterr().out
    assert f"build   reused    {UNIT}: " in out
    assert "1 unit: 1 reused" in out
    assert main(["run", "--explain", "--no-cache"]) == 0
    assert f"build   done      {UNIT}: " in capsys.readouterr().out


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["build", "audit", "check", "collect", "run"])
def test_json_is_exactly_one_document_on_stdout(name: str, capsys: Capture) -> None:
    main(["run"])
    capsys.readouterr()
    assert main([name, "--json"]) == 0
    out, err = capsys.readouterr()
    made = json.loads(out)
    assert (made["command"], made["exit_code"], made["out"]) == (name, 0, "dist")
    assert [unit["id"] for unit in made["units"]] == [UNIT]
    assert f"{name}: 4 cells" in err


@pytest.mark.usefixtures("project")
def test_the_plan_within_a_document_is_a_plan(capsys: Capture) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    main(["build", "--json"])
    made = json.loads(capsys.readouterr().out)
    jsonschema.validate(made["plan"], json.loads(schemas.shipped("plan")))
    jsonschema.validate(made["units"][0]["build"], json.loads(schemas.shipped("build")))


@pytest.mark.usefixtures("project")
def test_quiet_says_one_line(capsys: Capture) -> None:
    assert main(["build", "-q"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["audit", "check", "collect"])
def test_a_stage_without_a_plan_says_what_to_run_first(name: str, capsys: Capture) -> None:
    assert main([name, "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["exit_code"] == 2
    assert "rocmatrix plan" in err


@pytest.mark.usefixtures("project")
def test_a_pattern_that_matches_nothing_is_refused_with_the_ids(capsys: Capture) -> None:
    assert main(["plan", "--only", "nothing*"]) == 2
    err = capsys.readouterr().err
    assert "nothing*" in err
    assert UNIT in err


def test_a_mistake_in_the_matrix_is_told_with_file_and_line(project: Path, capsys: Capture) -> None:
    (project / "matrix.yaml").write_text(MATRIX.replace("rocm:", "rocmm:"))
    assert main(["run", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["where"] == "matrix.yaml:4"
    assert "rocm" in error["fix"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("limit", ["memory=1K", "memory=much", "cpus=0", "time=", "disk", "colour=red"])
def test_a_limit_that_is_none_is_refused(limit: str, capsys: Capture) -> None:
    assert main(["run", "--limit", limit]) == 2
    assert "--limit" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_units_without_compiled_code_need_no_engine(capsys: Capture) -> None:
    assert main(["run", "--engine", "docker", "--limit", "memory=16G", "--limit", "time=600", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exit_code"] == 0


@pytest.mark.usefixtures("project")
def test_audit_takes_anybodys_shared_object(capsys: Capture) -> None:
    library = next(Path(name) for name in _loaded() if "libc.so" in name or "libc-" in name)
    assert main(["audit", str(library)]) == 5
    out = capsys.readouterr().out
    assert "error[" in out
    assert f"audit {library}: failed: " in out.splitlines()[-1]


@pytest.mark.usefixtures("project")
def test_audit_of_a_path_does_not_pretend_to_select_units(capsys: Capture) -> None:
    assert main(["audit", ".", "--only", "*rocm72*"]) == 2
    assert "--only selects units of a plan" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_audit_of_a_path_is_one_document_with_json(capsys: Capture) -> None:
    main(["run", "-q"])
    capsys.readouterr()
    assert main(["audit", "dist/kernels/tiny/build/torch-rocm", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["outcome"] == "passed"
    assert "passed: 0 errors" in err


def _loaded() -> list[str]:
    return [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line]


def test_in_github_actions_the_run_has_a_page_and_failures_are_marked(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "page"))
    (project / "k" / "tests").mkdir()
    (project / "k" / "tests" / "cases.py").write_text("CASES = [\n")
    assert main(["run"]) == 6
    assert f"::error title=check failed%3A {UNIT}" in capsys.readouterr().err
    assert (project / "page").read_text().startswith("## rocmatrix run: exit code 6\n")


def test_a_page_that_cannot_be_written_is_said_and_stops_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project))
    assert main(["build"]) == 0
    assert "no summary was written: Is a directory" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_doctor_lists_what_is_there_and_for_which_verb(capsys: Capture) -> None:
    code = main(["doctor", "--json"])
    out, err = capsys.readouterr()
    made = json.loads(out)
    assert made["exit_code"] == code
    found = {probe["name"]: probe for probe in made["probes"]}
    assert {"a toolchain", "llvm", "Python", "cores", "memory", "disk, output", "disk, cache", "docker"} <= set(found)
    assert found["package index"]["health"] == "skipped"
    assert all(name in err for name in found)


def test_a_windows_locale_sees_everything_and_json_stays_utf8(project: Path) -> None:
    (project / "matrix.yaml").write_text(
        MATRIX + 'exclude: [{torch: "2.10", rocm: "7.1", reason: "läuft nicht → ☃"}]\n'
    )
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    shown = _subprocess("plan", environment)
    assert "läuft nicht \\u2192 \\u2603" in shown.decode("cp1252")
    assert "2.10           A    x" in shown.decode("cp1252")
    reasons = [cell["reason"] for cell in json.loads(_subprocess("plan", environment, "--json"))["cells"]]
    assert any("läuft nicht → ☃" in reason for reason in reasons)


def test_a_reader_that_left_before_the_summary_costs_nothing(project: Path) -> None:
    command = f"{sys.executable} -m rocmatrix run | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "0\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert (project / "dist" / "kernels" / "tiny" / "coverage.json").is_file()


def test_on_a_terminal_there_is_a_live_table_and_the_cursor_comes_back(project: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    environment.pop("CI", None)
    with subprocess.Popen(
        [sys.executable, "-m", "rocmatrix", "run"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        cwd=project,
        env=environment,
    ) as process:
        os.close(follower)
        written = b""
        try:
            while block := os.read(leader, 65536):
                written += block
        except OSError:  # the terminal is gone with the process
            pass
        assert process.wait(120) == 0
    os.close(leader)
    assert b"1 unit" in written
    assert written.rindex(b"\x1b[?25h") > written.rindex(b"\x1b[?25l")


def _subprocess(name: str, environment: dict[str, str], *words: str) -> bytes:
    command = [sys.executable, "-m", "rocmatrix", name, *words]
    return subprocess.run(command, capture_output=True, check=True, env=environment, timeout=120).stdout


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("verb", ["wheel", "sbom"])
def test_an_output_folder_that_is_not_there_is_refused_and_not_made(verb: str, project: Path, capsys: Capture) -> None:
    assert main([verb, "--out", "dits"]) == 2
    assert "there is no plan here" in capsys.readouterr().err
    assert not (project / "dits").exists()


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "emulator", "--gpu", "3"], "--gpu has no meaning with --on emulator"),
        (["--on", "emulator", "--image", "x"], "--image has no meaning with --on emulator"),
        (["--on", "gpu", "--device", "mi308x"], "--device has no meaning with --on gpu"),
        (["--on", "gpu", "--device", "mi300x"], "--device has no meaning with --on gpu"),
    ],
)
def test_an_option_of_what_executes_nothing_here_is_refused(
    project: Path, capsys: Capture, verb: str, words: list[str], said: str
) -> None:
    assert main([verb, *words]) == 2
    assert said in capsys.readouterr().err
    assert not (project / "dist").exists()
