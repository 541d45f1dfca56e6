"""The workflow files keep the rules; each rule says so of a file that was changed to break it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rocmatrix.gating import JOBS, Mode
from tests.unit.workflows.rules import ACTIONS, RULES, WORKFLOWS, File, read

KERNEL = next(path for path in WORKFLOWS if path.name == "build-kernel.yml")


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_every_rule(path: Path, rule: object) -> None:
    assert callable(rule)
    assert list(rule(read(path))) == []


BROKEN = [
    ("permissions", "build-kernel.yml", "permissions: {}\n\njobs", "permissions: read-all\n\njobs"),
    ("permissions", "build-kernel.yml", "contents: read # numerical", "contents: write # numerical"),
    (
        "permissions",
        "watch.yml",
        "    permissions:\n      contents: read # which kernels",
        "    env:\n      contents: read #",
    ),
    ("pins", "ci.yml", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1", "actions/checkout@v7"),
    ("pins", "ci.yml", "# v7.0.1", "# v7.0.0"),
    ("pins", "ci.yml", "actions/setup-python@5fda3b95", "acme/setup-python@5fda3b95"),
    ("pins", "release.yml", "$/.github/actions/github-release", "$/.github/actions/no-such"),
    ("timeouts", "ci.yml", "    timeout-minutes: 30\n", ""),
    ("timeouts", "ci.yml", "        timeout-minutes: 100\n", "        timeout-minutes: 130\n"),
    (
        "expressions",
        "build-kernel.yml",
        'rocmatrix plan --matrix "$MATRIX"',
        "rocmatrix plan --matrix ${{ inputs.matrix }}",
    ),
    ("expressions", "ci.yml", "name: Linters\n    runs", "name: ${{ github.event.pull_request.title }}\n    runs"),
    ("checkouts", "ci.yml", "persist-credentials: false", "persist-credentials: true"),
    ("events", "ci.yml", "  pull_request:", "  pull_request_target:"),
    ("secrets", "ci.yml", "    with:\n      mode: check", "    secrets: inherit\n    with:\n      mode: check"),
    ("secrets", "build-kernel.yml", "ARGUMENTS: ${{ inputs.arguments }}", "ARGUMENTS: ${{ secrets.hf-token }}"),
    ("self_hosted", "ci.yml", "runs-on: ubuntu-24.04", "runs-on: [self-hosted, linux]"),
    ("self_hosted", "gpu.yml", "contents: read # numerical", "contents: write # numerical"),
    ("self_hosted", "gpu.yml", "  workflow_dispatch:", "  pull_request:\n  workflow_dispatch:"),
    ("artifacts", "build-kernel.yml", "name: unit-${{ matrix.id }}-check", "name: unit-${{ matrix.id }}"),
    ("artifacts", "build-kernel.yml", "name: unit-${{ matrix.id }}-gpu", "name: gpu"),
    ("artifacts", "gpu.yml", "overwrite: ${{ github.run_attempt > 1 }}", "overwrite: true"),
    ("concurrency", "release.yml", "cancel-in-progress: false", "cancel-in-progress: true"),
    ("concurrency", "watch.yml", "concurrency:", "x-concurrency:"),
    ("unseen_failures", "build-kernel.yml", '<<<"$UNITS"', '< <(jq .units <<<"$UNITS")'),
    ("caches", "watch.yml", 'caches: "false"', 'caches: "true"'),
    ("caches", "build-kernel.yml", "caches: ${{ inputs.mode != 'release' }}", 'caches: "true"'),
    (
        "caches",
        "build-kernel.yml",
        "          caches: ${{ inputs.mode != 'release' }} # nothing that ran before is in a release\n",
        "",
    ),
    ("caches", "release.yml", '          caches: "false"\n', ""),
    ("command_line", "build-kernel.yml", "rocmatrix collect --matrix", "rocmatrix collect --matriks"),
    ("command_line", "build-kernel.yml", "| rocmatrix gate --results", "| rocmatrix gates --results"),
    ("command_line", "images.yml", 'rocmatrix images push "$RECIPE"', 'rocmatrix images push --pull "$RECIPE"'),
    ("command_line", "watch.yml", '--load "$PYTHON"', '--load "$PYTHON" "$MORE"'),
]


@pytest.mark.parametrize(("rule", "name", "before", "after"), BROKEN)
def test_each_rule_sees_a_file_that_breaks_it(rule: str, name: str, before: str, after: str) -> None:
    path = next(path for path in WORKFLOWS if path.name == name)
    text = path.read_text(encoding="utf-8")
    assert before in text, "this test changes nothing"
    broken = read(path, text.replace(before, after, 1))
    (found,) = [each for each in RULES if each.__name__ == rule]
    assert list(found(broken)), f"{rule} does not see it"


def kernel() -> File:
    return read(KERNEL)


def test_the_reusable_workflow_takes_at_most_eight_inputs_each_described_and_used() -> None:
    inputs = kernel().events["workflow_call"]["inputs"]
    assert len(inputs) <= 8
    for name, each in inputs.items():
        assert each["description"]
        assert each["default"] is not None
        assert f"inputs.{name}" in kernel().text
    modes = inputs["mode"]["description"]
    assert [mode.value for mode in Mode if mode.value not in modes] == []


def test_the_gate_needs_every_other_job_always_runs_and_is_told_each_result() -> None:
    jobs = kernel().jobs
    gate = jobs["gate"]
    assert set(gate["needs"]) == set(jobs) - {"gate"} == set(JOBS)
    assert gate["if"] == "always()"
    told = gate["steps"][-1]["env"]["RESULTS"]
    assert set(re.findall(r'"([a-z-]+)": \{"result": \$\{\{ toJSON\(needs\.\1\.result\) \}\}', told)) == set(JOBS)
    assert "needs.plan.outputs.units" in told
    assert "needs.collect.outputs.units" in told


def test_a_release_asks_for_the_success_of_everything_before_it() -> None:
    release = kernel().jobs["release"]
    assert set(release["needs"]) == {"plan", "build", "digests", "check", "check-gpu", "collect"}
    for job in release["needs"]:
        assert f"needs.{job}.result == 'success'" in release["if"]
    assert "needs.collect.outputs.units == needs.plan.outputs.units" in release["if"]
    assert release["environment"] == "${{ inputs.environment }}"
    assert release["runs-on"] == "ubuntu-24.04"


def test_digests_are_taken_before_a_machine_of_one_s_own_has_a_part_and_everybody_compares() -> None:
    jobs = kernel().jobs
    hosted = {"plan", "build", "check"}
    assert {name: jobs[name]["runs-on"] for name in ("check", "digests")} == dict.fromkeys(
        ("check", "digests"), "ubuntu-24.04"
    )
    assert set(jobs["digests"]["needs"]) == hosted
    assert set(jobs["check"]["needs"]) <= hosted
    steps = jobs["check-gpu"]["steps"]
    (got,) = [at for at, step in enumerate(steps) if "actions/download-artifact@" in step.get("uses", "")]
    assert "rocmatrix digest --check -" in steps[got + 1]["run"]
    assert steps[got + 1]["env"]["DIGESTS"] == "${{ needs.digests.outputs.digests }}"
    assert steps[got]["with"]["path"] != "dist"
    for later in ("check-gpu", "collect"):
        assert "digests" in jobs[later]["needs"]
        assert "needs.digests.result == 'success'" in jobs[later]["if"]
    (collect,) = [step for step in jobs["collect"]["steps"] if step.get("id") == "collect"]
    assert collect["env"]["DIGESTS"] == "${{ needs.digests.outputs.digests }}"
    assert "--digests -" in collect["run"]
    of_a_tag = read(next(path for path in WORKFLOWS if path.name == "release.yml")).jobs["github-release"]
    for job in (jobs["release"], of_a_tag):
        steps = job["steps"]
        (got,) = [at for at, step in enumerate(steps) if "actions/download-artifact@" in step.get("uses", "")]
        assert "rocmatrix digest --check - dist/plan.json dist/kernels dist/units" in steps[got + 1]["run"]
        assert steps[got + 1]["env"]["SET"].endswith(".outputs.set }}")


def test_the_tag_is_looked_at_as_it_was_made_before_anything_is_built_and_before_it_is_released() -> None:
    """A checkout of a tag leaves its commit under its name: without the tag itself every release would be refused."""
    for job, later in (("plan", "Plan"), ("release", "Everything that needs no credential")):
        names = [step["name"] for step in kernel().jobs[job]["steps"]]
        (fetched,) = [step for step in kernel().jobs[job]["steps"] if "source-tag" in step.get("uses", "")]
        assert fetched["with"] == {"tag": "${{ inputs.tag }}"}
        assert names.index(fetched["name"]) < names.index(later)
        assert fetched.get("if", "inputs.mode == 'release' && inputs.tag != ''") == (
            "inputs.mode == 'release' && inputs.tag != ''"
        )


def test_a_release_takes_no_digest_from_a_job_that_was_run_again_alone() -> None:
    """What `plan` said in an earlier attempt stays as it was; a release with a GPU asks for that of its own attempt."""
    jobs = kernel().jobs
    assert jobs["plan"]["outputs"]["attempt"] == "${{ github.run_attempt }}"
    first = jobs["digests"]["steps"][0]
    assert "$GITHUB_RUN_ATTEMPT" in first["run"]
    assert first["env"] == {"PLANNED": "${{ needs.plan.outputs.attempt }}"}
    assert first["if"] == "inputs.mode == 'release' && inputs.gpu-runner != ''"
    assert "plan" in jobs["digests"]["needs"]
    assert "if" not in jobs["plan"]


def test_a_machine_of_one_s_own_has_no_part_before_all_is_built_and_checked() -> None:
    """Who runs what failed again lets `digests` run again: over what no such machine could have put in place."""
    asked = " ".join(kernel().jobs["check-gpu"]["if"].split())
    assert "&& needs.build.result == 'success' && needs.check.result == 'success' &&" in asked
    assert "failure" not in asked
    assert "||" not in asked.replace("(inputs.mode == 'check' || inputs.mode == 'release')", "")


def test_caches_are_saved_on_the_default_branch_alone() -> None:
    saves = [
        step
        for path in (*WORKFLOWS, *ACTIONS)
        for _, step in read(path).steps
        if "actions/cache/save@" in str(step.get("uses"))
    ]
    assert saves
    for step in saves:
        assert "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)" in step["if"]
    whole = [path for path in (*WORKFLOWS, *ACTIONS) if "actions/cache@" in path.read_text(encoding="utf-8")]
    assert whole == []


def test_a_run_for_a_tag_takes_nothing_from_caches() -> None:
    restores = [
        step
        for path in (*WORKFLOWS, *ACTIONS)
        for _, step in read(path).steps
        if "actions/cache/restore@" in str(step.get("uses"))
    ]
    assert [step["if"] for step in restores] == ["github.ref_type != 'tag' && inputs.caches == 'true'"]


def test_the_weekly_run_moves_bases_that_have_a_digest() -> None:
    """Without ``--upgrade`` a base stays where it is, and the pull request would never come."""
    (images,) = [path for path in WORKFLOWS if path.name == "images.yml"]
    (pin,) = [step["run"] for _, step in read(images).steps if "images pin" in step.get("run", "")]
    assert "--upgrade" in pin.split()


def test_what_becomes_a_pull_request_is_made_on_the_default_branch_alone() -> None:
    default = "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
    jobs = [job for path in WORKFLOWS for job in read(path).jobs.values() if "actions/propose" in yaml.safe_dump(job)]
    assert len(jobs) == 2
    for job in jobs:
        other = f"github.event_name == 'schedule' || (github.event_name == 'workflow_dispatch' && {default})"
        assert " ".join(job["if"].split()) in (other, f"github.event_name == 'schedule' || {default}")


def test_every_job_of_a_tag_s_run_uses_the_toolkit_at_its_own_commit() -> None:
    for name, job in kernel().jobs.items():
        used = [step["uses"] for step in job["steps"] if "setup-rocmatrix" in step.get("uses", "")]
        assert used == ["$/.github/actions/setup-rocmatrix"], name
    assert "@main" not in "".join(path.read_text(encoding="utf-8") for path in (*WORKFLOWS, *ACTIONS))


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        (["check-jsonschema", "--builtin-schema", "vendor.github-workflows"], WORKFLOWS),
        (["check-jsonschema", "--builtin-schema", "vendor.github-actions"], ACTIONS),
        (["actionlint"], WORKFLOWS),
        (["zizmor", "--offline", "--no-progress", "--persona", "auditor"], [*WORKFLOWS, *ACTIONS]),
    ],
)
def test_the_tools_find_nothing(tool: list[str], files: list[Path]) -> None:
    program = Path(sys.executable).with_name(tool[0])
    if not program.exists():  # the environment with torch lies on top of the one with the tools, on PATH
        program = Path(tool[0])
    done = subprocess.run(
        [str(program), *tool[1:], *map(str, files)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_of_actions_stop_at_the_first_failure() -> None:
    scripts = [path for action in ACTIONS for path in action.parent.glob("*.sh")]
    assert scripts
    for script in scripts:
        assert "set -euo pipefail" in script.read_text(encoding="utf-8")
        subprocess.run(["bash", "-n", str(script)], check=True, timeout=10)


def test_every_pin_is_used() -> None:
    pins = yaml.safe_dump([read(path).content for path in (*WORKFLOWS, *ACTIONS)])
    from tests.unit.workflows.rules import PINS  # noqa: PLC0415 - only here

    assert [name for name in PINS if name != "date" and f"{name}@" not in pins and f"{name}/" not in pins] == []
