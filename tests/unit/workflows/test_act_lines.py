"""What act prints, as it was seen with 0.2.89: which job of a matrix failed, and what each printed."""

import json

from rocmatrix.workflows.act import JobRun, _Reader


def line(job: str, **told: object) -> str:
    return json.dumps({"dryrun": False, "job": job, "jobID": "build", "level": "info", **told}) + "\n"


def test_of_a_matrix_the_jobs_that_failed_are_those_with_a_failed_step() -> None:
    said: list[JobRun] = []
    reader = _Reader(said.append)
    for text in (
        line("CI/build-2", msg="no", raw_output=True, step="x", stage="Main"),
        line("CI/build-2", msg="Failure - Main x", step="x", stage="Main", stepResult="failure"),
        line("CI/build-2", msg="Job failed", jobResult="failure"),
        line("CI/build-1", msg="Success - Main x", step="x", stage="Main", stepResult="success"),
        line("CI/build-1", msg="Job failed", jobResult="failure"),
        "Error: Job 'build' failed\n",
    ):
        reader.take(text)
    assert said == reader.jobs
    assert [(job.name, job.result) for job in said] == [("build-2", "failure"), ("build-1", "success")]
    assert reader.log == {"build-2": ["no\n"], "act": ["Error: Job 'build' failed\n"]}


def test_a_job_that_failed_before_its_first_step_failed() -> None:
    reader = _Reader(lambda _: None)
    reader.take(line("CI/build", msg="Job failed", jobResult="failure"))
    assert [job.result for job in reader.jobs] == ["failure"]


def test_a_job_that_act_has_no_machine_for_did_not_run() -> None:
    said: list[JobRun] = []
    reader = _Reader(said.append)
    reader.take(
        line(
            "CI/build", msg="\N{CONSTRUCTION SIGN}  Skipping unsupported platform -- Try running with `-P macos-14=...`"
        )
    )
    assert [job.result for job in said] == ["not run: a rehearsal has no machine macos-14"]
