"""The steps that plan and build, as they stand in build-kernel.yml: what is asked for reaches the right command."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix.cli.main import make_parser
from rocmatrix.cli.options import UsageError
from rocmatrix.cli.workflow_inputs import read_words
from tests.unit.workflows.rules import ROOT, WORKFLOWS, read

DOCS = (ROOT / "docs/workflows.md").read_text(encoding="utf-8")
WORKFLOW = read(next(path for path in WORKFLOWS if path.name == "build-kernel.yml"))


def run_step(folder: Path, run: str, program: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the text of a step with a program in the place of ``rocmatrix``."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/rocmatrix").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "bin/rocmatrix").chmod(0o755)
    own = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "ROCMATRIX_CACHE": str(folder / "cache"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(folder / "outputs"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run],
        cwd=folder,
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def planned(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step that plans with the inputs of a caller; those that are not given are the workflow's defaults."""
    (step,) = [step for step in WORKFLOW.jobs["plan"]["steps"] if step.get("id") == "plan"]
    declared = WORKFLOW.events["workflow_call"]["inputs"]
    named = {name: value.removeprefix("${{ inputs.").removesuffix(" }}") for name, value in step["env"].items()}
    variables = {name: inputs.get(of, declared[of]["default"]) for name, of in named.items()}
    return run_step(folder, step["run"], f'exec {shlex.quote(sys.executable)} -m rocmatrix "$@"', variables)


def output(folder: Path, name: str) -> str:
    """Return an output that a step wrote."""
    found = re.search(rf"^{name}<<(\S+)\n(.*?)\n\1$", (folder / "outputs").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found[2]


def built(folder: Path, arguments: str, *units: str) -> list[str]:
    """Return what the step that builds calls, by the output of the one that planned."""
    (step,) = [step for step in WORKFLOW.jobs["build"]["steps"] if step.get("name") == "Build"]
    assert step["env"]["ARGUMENTS"].startswith("${{ needs.plan.outputs.build }}")
    assert WORKFLOW.jobs["plan"]["outputs"]["build"] == "${{ steps.plan.outputs.build }}"
    variables = {"MATRIX": "matrix.yaml", "ARGUMENTS": arguments, "UNITS": " ".join(units)}
    done = run_step(folder, step["run"], "printf '%s\\n' \"$@\"", variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"mode": "release"}, "mode release needs a tag"),
        ({"mode": "release", "tag": "main"}, "'main' is no tag of a release of tiny"),
        ({"mode": "release", "tag": "v1.junk"}, "'v1.junk' is no tag of a release of tiny"),
        ({"mode": "release", "tag": "v2.0.0"}, "v2.0.0 is of major version 2, and build.toml says version = 1"),
        ({"mode": "release", "tag": "v1.0.0"}, "this is no git repository"),
        ({"mode": "relaese", "tag": "v1.0.0"}, "invalid choice: 'relaese'"),
    ],
)
def test_what_cannot_be_released_is_not_built(project: Path, inputs: dict[str, str], said: str) -> None:
    done = planned(project, **inputs)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (project / "outputs").exists()


@pytest.mark.parametrize("inputs", [{}, {"mode": "check", "tag": "some-branch"}])
def test_what_can_be_done_is_planned(project: Path, inputs: dict[str, str]) -> None:
    done = planned(project, **inputs)
    assert done.returncode == 0, done.stderr
    assert "units<<" in (project / "outputs").read_text()


def test_a_tag_that_no_release_could_be_made_from_is_refused_before_anything_is_built(project: Path) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *words], cwd=project, check=True, timeout=60)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "x")
    git("tag", "v1.0.0")
    git("tag", "--annotate", "--message", "x", "v1.0.1")
    done = planned(project, mode="release", tag="v1.0.0")
    assert (done.returncode, (project / "outputs").exists()) == (2, False), done.stderr
    assert "v1.0.0 is no annotated tag" in done.stderr
    done = planned(project, mode="release", tag="v1.0.1")
    assert done.returncode == 0, done.stderr
    assert "units<<" in (project / "outputs").read_text()


def documented() -> list[str]:
    """Return every example of `arguments`: of docs/workflows.md, and of the input's own description."""
    (row,) = [line for line in DOCS.splitlines() if line.startswith("| `arguments` |")]
    described = WORKFLOW.events["workflow_call"]["inputs"]["arguments"]["description"]
    return re.findall(r"`(--[^`]+)`", row) + re.findall(r"e\.g\. (--[a-z]+ \S+),", described)


def test_the_documented_examples_are_there() -> None:
    assert len(documented()) >= 7


@pytest.mark.parametrize("arguments", [*documented(), "", " \n", " --jobs 2\n--explain\n\n--limit 'time=60'  "])
def test_documented_words_reach_the_command_that_they_are_for(project: Path, arguments: str) -> None:
    done = planned(project, arguments=arguments)
    assert done.returncode == 0, done.stderr
    called = built(project, output(project, "build"), "a", "b")
    words = [word for word in shlex.split(arguments) if not arguments.startswith("--max-jobs")]
    assert called == ["build", "--matrix", "matrix.yaml", *words, "--only=a", "--only=b"]
    make_parser().parse_args(called)


def test_the_number_of_jobs_and_the_toolchain_are_the_plan_s(project: Path) -> None:
    done = planned(project, arguments="--max-jobs=1000\n--toolchain almalinux")
    assert done.returncode == 2
    assert "1000 jobs cannot be had" in done.stderr
    plan = json.loads((project / "dist/plan.json").read_text())
    assert {each["recipe"] for each in plan["toolchains"]} <= {"almalinux"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--only tiny*", "--only cannot be given: each job builds the units of its row"),
        ("--jobs 2\n--only=tiny*", "--only cannot be given"),
        ("--keep", "--keep cannot be given"),
        ("--out elsewhere", "--out cannot be given"),
        ("--matrix other.yaml", "--matrix cannot be given: that is the input `matrix`"),
        ("--on gpu", "unrecognized arguments: --on gpu"),
        ("--jobs 0", "'0' is not a whole number of at least 1"),
        ("--limit 'time=60", "No closing quotation"),
        ("--limit hours=3", "hours"),
        ("--toolchain 'alma\nlinux'", "is no word of a command line"),
        ("--toolchain nosuch", "the toolchain 'nosuch' is not known"),
    ],
)
def test_what_no_job_can_do_is_refused_by_the_one_that_plans(project: Path, arguments: str, said: str) -> None:
    done = planned(project, arguments=arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (project / "outputs").exists()


def test_every_option_of_a_build_can_be_given_or_says_why_not() -> None:
    verbs = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    values = {"--engine": "host", "--limit": "time=60", "--jobs": "2", "--toolchain": "llvm", "--only": "x"}
    loud = {"-h", "--help", "--json", "-v", "--verbose", "-q", "--quiet"}  # how it talks, not what it does
    for option in set(verbs.choices["build"]._option_string_actions) - loud:
        word = f"{option}={values[option]}" if option in values else option
        try:
            assert read_words(word).building == (word,)
        except UsageError as err:
            assert f"{option} cannot be given: " in err.what  # noqa: PT017 - one or the other, option by option
