"""The workflow files, run by act in the repositories of others: callers, strangers, and what must never look green."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from rocmatrix.workflows.act import JobRun, run_act
from rocmatrix.workflows.actions import STAND_INS
from rocmatrix.workflows.rehearsal import hub_variables, push_of
from tests.system.workflow_repository import MATRIX, commit, git, write_kernel, write_python_kernel
from tests.system.workflow_runs import (
    CALLER,
    ONE_ROCM,
    ROOT,
    SECONDS,
    branches_and_tags,
    logs,
    on_stage,
    run,
)

pytestmark = [
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]


def readme_yaml(section: str) -> list[str]:
    """Return the YAML of a section of README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```yaml\n(.*?)```", text[text.index(f"## {section}") :].partition("\n## ")[0], re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A rehearsal of README's lines that was begun, and where what it prints goes."""

    process: subprocess.Popen[bytes]
    said: Path
    told: Path


@pytest.fixture(scope="module", autouse=True)
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """README's lines as they stand: a project, matrix.yaml beside it, and the workflow at the commit that git names.

    It is begun before all other tests of this module, which take about as long together and mostly use one core.
    """
    folder = tmp_path_factory.mktemp("readme")
    (matrix,) = readme_yaml("Your own kernel")
    caller, release = readme_yaml("Use it in your repository")
    head = git(ROOT, "ls-remote", str(ROOT), "HEAD").split()[0]  # README's command, with this repository's address
    repository = folder / "shift"
    shutil.copytree(write_kernel(folder / "other", "shift", caller="") / "kernels/shift", repository)
    (repository / "matrix.yaml").write_text(matrix + release)
    (repository / ".github/workflows").mkdir(parents=True)
    (repository / ".github/workflows/release.yml").write_text(caller.replace("0" * 40, head))
    git(repository, "init", "-q", "-b", "main")
    commit(repository, "Sources", tag="v1.0.0")
    said, told = folder / "said.json", folder / "told"
    with said.open("wb") as out, told.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "rocmatrix", "rehearse", "--workflow", "--tag", "v1.0.0", "--json"],
            cwd=repository,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=out,
            stderr=err,
        )
    yield Rehearsal(process=process, said=said, told=told)
    process.terminate()  # where the test that waits for it was not chosen
    process.wait(SECONDS)


def test_of_a_fork_s_pull_request_a_failing_kernel_is_annotated_the_other_is_done_and_nothing_has_a_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretSECRETsecret")
    ci = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    repository = write_python_kernel(tmp_path / "two", "scale", caller=ci, matrix=ONE_ROCM)
    other = write_kernel(tmp_path / "other", "shift", caller="", matrix=ONE_ROCM)
    shutil.copytree(other / "kernels/shift", repository / "kernels/shift")
    matrix = repository / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("kernels/scale]", "kernels/scale, kernels/shift]"))
    broken = repository / "kernels/shift/shift.hip"
    broken.write_text(
        broken.read_text().replace("x[i] + factor", "y[i] + factor") + "\n#error \\\n::error title=x::from a stranger\n"
    )
    commit(repository, "From a fork")
    payload: dict[str, object] = {
        "action": "opened",
        "number": 7,
        "pull_request": {"head": {"ref": "patch", "repo": {"full_name": "eve/scale", "fork": True}}},
        "repository": {"default_branch": "main", "full_name": "acme/scale"},
    }
    found = run(tmp_path, repository, event="pull_request", payload=payload, job="kernels")
    assert found.exit_code == 1
    assert found.results("build") == ("failure", "success"), logs(found)
    assert "success" in found.results("check")
    assert found.results("collect") == ("failure",)
    assert found.results("check-gpu") == found.results("release") == ()
    assert found.results("gate") == ("failure",)
    assert "build: it failed" in found.said("Gate")
    assert "scale" in found.said("Collect")
    lines = broken.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, start=1) if "y[i]" in text)
    assert re.search(rf"::error [^:]*file=kernels/shift/shift\.hip,line={line},", logs(found)), logs(found)
    assert not re.search(r"^\s*(❗\s+)?::error title=x::", logs(found), re.MULTILINE)
    assert "secretSECRETsecret" not in logs(found)


GPU = CALLER.replace("MODE", "release").replace("{mode:", """{gpu-runner: '["self-hosted"]', mode:""")
MACHINE = """
set -e
if [[ $1 != check || $3 != gpu ]]; then exec rocmatrix-itself "$@"; fi
# a machine of one's own on which somebody else is at home: it says that all is well, puts another build in place, and
# its own record in place of the emulator's
echo '{}' >"$(dirname "$(ls dist/units/*/build.json)")/check.json"
changed=$(dirname "$0")/changed
rm -rf "$changed" && cp -r dist "$changed" && echo "# evil" >>"$(ls "$changed"/units/*/payload/__init__.py | head -1)"
cd "$changed" && python3 ARTIFACTS/intrude.py
"""
INTRUDER = """
import artifacts
from pathlib import Path
artifacts._listed = lambda: []  # the service takes the name a second time, as it does after a deletion
print("intruder:", artifacts.upload("unit-001-noarch", [str(path) for path in Path().iterdir()], "error"))
print("intruder:", artifacts.upload("unit-001-noarch-check", ["plan.json", "units/*/check.json"], "error"))
"""


def test_a_build_and_a_record_that_a_machine_of_one_s_own_puts_in_place_of_the_hosted_ones_are_refused(
    tmp_path: Path,
) -> None:
    repository = write_python_kernel(tmp_path / "scale", "scale", caller=GPU, matrix=ONE_ROCM)
    folder = tmp_path / "evil"
    folder.mkdir()
    shutil.copyfile(STAND_INS / "artifacts.py", folder / "artifacts.py")
    (folder / "intrude.py").write_text(INTRUDER)
    machine = MACHINE.replace("ARTIFACTS", str(folder))
    found = run(tmp_path, repository, payload=push_of("v1.0.0"), machine=machine)
    for name in ("unit-001-noarch", "unit-001-noarch-check"):
        assert f"intruder: artifact {name}: " in found.said("GPU"), logs(found)
    assert found.results("digests") == found.results("check-gpu") == found.results("check") == ("success",), logs(found)
    assert (found.results("collect"), found.results("release")) == (("failure",), ()), logs(found)
    assert "/parts/unit-001-noarch: it was replaced or changed: its digest is sha256:" in found.said("Collect")
    assert "is stated; so was 'unit-001-noarch-check'" in found.said("Collect")
    assert found.results("gate") == ("failure",)


def test_a_cancelled_run_releases_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "release"), matrix=ONE_ROCM)

    def cancel(job: JobRun) -> None:
        assert job.id == "plan"
        raise KeyboardInterrupt

    with on_stage(tmp_path, repository) as (stage, hub):
        errand = stage.errand(event="push", payload=push_of("v1.0.0"), variables=hub_variables(hub))
        with pytest.raises(KeyboardInterrupt):
            run_act(errand, cancel)
        assert branches_and_tags(hub, "acme/scale") == (["main"], [])
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in _read(path)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_plan_without_a_unit_is_red_and_builds_nothing(tmp_path: Path) -> None:
    empty = ONE_ROCM.replace('torch: ["2.10", "2.12", "2.13"]', 'torch: ["2.10"]')
    empty += 'exclude: [{{torch: "2.10", rocm: "7.1", reason: "not any more"}}]\n'
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "check"), matrix=empty)
    found = run(tmp_path, repository)
    assert found.exit_code == 1
    assert found.results("build") == ()
    assert found.results("gate") == ("failure",), logs(found)


def test_one_row_that_is_only_built_is_collected_though_its_only_artifact_lies_flat(tmp_path: Path) -> None:
    repository = write_python_kernel(
        tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "build"), matrix=ONE_ROCM
    )
    found = run(tmp_path, repository)
    assert found.results("digests") == found.results("collect") == found.results("gate") == ("success",), logs(found)
    assert [path.stem for path in found.artifacts.rglob("unit-*.zip")] == ["unit-001-noarch"]
    assert "every job did what the plan of 1 unit asks" in found.said("Gate")


def test_300_cells_fit_into_one_matrix(tmp_path: Path) -> None:
    per_torch = MATRIX.replace("release:", "abi: per-torch\nrelease:")
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "plan"), matrix=per_torch)
    names = [f"kernel-{number}" for number in range(60)]
    for name in names:
        project = repository / "kernels" / name
        shutil.copytree(repository / "kernels/scale", project)
        manifest = (project / "build.toml").read_text()
        manifest = manifest.replace('name = "scale"', f'name = "{name}"').replace("acme/scale", f"acme/{name}")
        (project / "build.toml").write_text(manifest.replace('stable-abi = "2.10"\n', ""))
        (project / "torch-ext/scale").rename(project / "torch-ext" / name.replace("-", "_"))
    matrix = repository / "matrix.yaml"
    matrix.write_text(
        matrix.read_text().replace("[kernels/scale]", f"[{', '.join(f'kernels/{name}' for name in names)}]")
    )
    commit(repository, "Many kernels")
    found = run(tmp_path, repository)
    assert found.exit_code == 0, logs(found)
    (line,) = [line for line in found.said("Plan").splitlines() if line.startswith('{"empty":false')]
    rows = json.loads(line)
    assert rows["units"] == 300
    assert len(rows["include"]) == 64
    assert "every job did what the plan of 300 units asks" in found.said("Gate")


def test_an_empty_repository_follows_the_readme(rehearsal: Rehearsal) -> None:
    caller, _ = readme_yaml("Use it in your repository")
    assert len(caller.splitlines()) <= 16
    assert yaml.safe_load(caller)["concurrency"] == {"group": "release-${{ github.ref }}", "cancel-in-progress": False}
    code = rehearsal.process.wait(SECONDS)
    assert code == 0, rehearsal.said.read_text() + rehearsal.told.read_text()
    found = json.loads(rehearsal.said.read_bytes())
    assert found["passed"]
    ended = ["plan", "build", "digests", "check", "collect", "release", "gate"]
    assert sorted({job["id"] for job in found["jobs"]}) == sorted(ended)
    assert {f"torch{got['torch']}-rocm{got['rocm']}": got["variant"] for got in found["users"]} == found["wanted"]
    assert len(found["users"]) == 4
