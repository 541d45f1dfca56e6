"""The gate: over every combination of results, only a run that did what was planned looks green."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.errors import ExitCode
from rocmatrix.gating import JOBS, Job, JobState, Mode, judge
from tests.unit.workflows.rules import ROOT, WORKFLOWS, read

# written out by hand: which jobs a mode needs, and which it must not have run
NEEDED = {
    "plan": {"plan"},
    "build": {"plan", "build", "digests", "collect"},
    "check": {"plan", "build", "digests", "check", "collect"},
    "release": {"plan", "build", "digests", "check", "collect", "release"},
}
UNITS = {"plan": {"units": "3"}, "collect": {"units": "3"}}


def jobs(results: Mapping[str, str | None], outputs: Mapping[str, Mapping[str, str]] = UNITS) -> dict[str, Job]:
    return {
        name: Job(result=JobState(result), outputs=outputs.get(name, {}))
        for name, result in results.items()
        if result is not None
    }


def green(mode: str, *, gpu: bool = False) -> dict[str, str | None]:
    needed = NEEDED[mode] | ({"check-gpu"} if gpu and mode in {"check", "release"} else set())
    return {name: "success" if name in needed else "skipped" for name in JOBS}


@pytest.mark.parametrize("mode", ["plan", "build"])
def test_a_mode_that_checks_nothing_asks_for_the_same_jobs_with_a_gpu_as_without(mode: str) -> None:
    assert judge({}, mode=Mode(mode), gpu=True) == judge({}, mode=Mode(mode), gpu=False)


@pytest.mark.parametrize(
    ("mode", "gpu"),
    [("plan", False), ("build", False), ("check", False), ("check", True), ("release", False), ("release", True)],
)
def test_of_all_combinations_of_results_only_the_planned_one_passes(mode: str, *, gpu: bool) -> None:
    passing = []
    made = {(name, state): Job(result=state, outputs=UNITS.get(name, {})) for name in JOBS for state in JobState}
    absent = itertools.product((None, JobState.SUCCESS, JobState.SKIPPED), repeat=len(JOBS))
    for results in {*itertools.product(JobState, repeat=len(JOBS)), *absent}:
        there = {name: made[name, result] for name, result in zip(JOBS, results, strict=True) if result}
        found = judge(there, mode=Mode(mode), gpu=gpu)
        assert (found.exit_code is ExitCode.DONE) == (not found.objections)
        if not found.objections:
            passing.append(results)
    expected = green(mode, gpu=gpu)
    # a job that is not needed may be skipped or absent; nothing else may differ
    for results in passing:
        for name, result in zip(JOBS, results, strict=True):
            assert result == expected[name] or (result is None and expected[name] == "skipped"), (mode, results)
    unneeded = sum(result == "skipped" for result in expected.values())
    assert len(passing) == 2**unneeded


@pytest.mark.parametrize("mode", NEEDED)
@pytest.mark.parametrize("said", ["0", "", None, "many", "-3", "³", "9" * 5000])
def test_a_plan_without_units_or_without_a_number_never_passes(mode: str, said: str | None) -> None:
    outputs = {"plan": {"units": said} if said is not None else {}, "collect": {"units": said or "0"}}
    found = judge(jobs(green(mode), outputs), mode=Mode(mode), gpu=False)
    assert found.exit_code is ExitCode.INPUT
    assert found.objections[0].startswith("plan: ")


@pytest.mark.parametrize("mode", ["build", "check", "release"])
@pytest.mark.parametrize("said", ["2", "4", "", "0"])
def test_another_number_of_collected_units_than_planned_never_passes(mode: str, said: str) -> None:
    outputs = {"plan": {"units": "3"}, "collect": {"units": said}}
    found = judge(jobs(green(mode), outputs), mode=Mode(mode), gpu=False)
    assert found.exit_code is ExitCode.BUILD
    assert found.objections[0].startswith("collect: ")


@pytest.mark.parametrize(
    ("job", "code"),
    [("plan", 2), ("build", 4), ("digests", 3), ("check", 6), ("check-gpu", 6), ("collect", 4), ("release", 7)],
)
def test_the_first_failure_decides_the_exit_code_and_a_cancelled_job_is_the_runners(job: str, code: int) -> None:
    failed = green("release", gpu=True) | {job: "failure"}
    assert judge(jobs(failed), mode=Mode.RELEASE, gpu=True).exit_code == code
    for other in ("cancelled", "skipped", None):
        stopped = green("release", gpu=True) | {job: other}
        assert judge(jobs(stopped), mode=Mode.RELEASE, gpu=True).exit_code is ExitCode.ENVIRONMENT


def test_a_caller_s_own_job_has_to_succeed_too() -> None:
    own = {**jobs(green("plan")), "docs": Job(result=JobState.SKIPPED)}
    found = judge(own, mode=Mode.PLAN, gpu=False)
    assert [(verdict.job, verdict.objection) for verdict in found.verdicts if verdict.objection] == [
        ("docs", "docs: it was skipped, and this mode needs it")
    ]


def write(path: Path, results: Mapping[str, str | None]) -> Path:
    needs = {
        name: {"result": result, "outputs": UNITS.get(name, {})}
        for name, result in results.items()
        if result is not None
    }
    path.write_text(json.dumps(needs))
    return path


def test_the_verb_prints_a_table_annotates_and_adds_to_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    needs = write(tmp_path / "needs.json", green("check") | {"check": "cancelled"})
    assert main(["gate", "--results", str(needs), "--mode", "check"]) == ExitCode.ENVIRONMENT
    printed = capsys.readouterr()
    assert "gate: check: 1 objection; exit code 3" in printed.out
    assert "::error title=gate::check: it was cancelled" in printed.err
    assert "| check | success | cancelled **wrong** |" in (tmp_path / "summary.md").read_text()
    assert main(["gate", "--results", str(write(needs, green("check"))), "--mode", "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objections"] == []


def test_a_summary_that_cannot_be_written_changes_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    needs = write(tmp_path / "needs.json", green("check") | {"check": "cancelled"})
    assert main(["gate", "--results", str(needs), "--mode", "check"]) == ExitCode.ENVIRONMENT
    assert "no summary was written: Is a directory" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a":' * 100_000, '{"plan": {"result": "great"}}', '{"plan": {}}', "\ufeff{}", "null"]
)
def test_what_is_no_needs_context_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "needs.json"
    path.write_text(text)
    assert main(["gate", "--results", str(path), "--mode", "plan"]) == ExitCode.INPUT
    said = capsys.readouterr().err
    assert f"{path}: this is no `needs` context" in said
    assert "Traceback" not in said


def run_gate_step(tmp_path: Path, results: Mapping[str, str | None]) -> subprocess.CompletedProcess[str]:
    """Run the last step of the job `gate` as it stands, with the results that GitHub would put into its variable."""
    jobs = read(next(path for path in WORKFLOWS if path.name == "build-kernel.yml")).jobs
    step = jobs["gate"]["steps"][-1]
    told = re.sub(r"\$\{\{ toJSON\(needs\.[a-z-]+\.outputs\.units\) \}\}", '"3"', step["env"]["RESULTS"])
    told = re.sub(r"\$\{\{ toJSON\(needs\.([a-z-]+)\.result\) \}\}", lambda found: f'"{results[found[1]]}"', told)
    assert "${{" not in told
    program = tmp_path / "rocmatrix"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec "{sys.executable}" -P -m rocmatrix "$@"\n')
    program.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MODE": "check", "GPU": "", "RESULTS": told}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, 0),
        ({"build": "cancelled", "check": "skipped"}, 3),
        ({"digests": "cancelled"}, 3),
        ({"check": "failure"}, 6),
    ],
)
def test_the_step_of_the_workflow_as_it_stands_is_red_for_a_cancelled_job(
    tmp_path: Path, changed: dict[str, str], code: int
) -> None:
    """act never calls a job cancelled; this is what GitHub hands to the gate when one was."""
    done = run_gate_step(tmp_path, green("check") | changed)
    assert done.returncode == code, done.stdout + done.stderr
    for job, result in changed.items():
        assert re.search(rf"^{job} +success +{result} +wrong", done.stdout, re.MULTILINE), done.stdout
