"""What is watched of published kernels: whose promise is looked at, and what of a look is an objection."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd

from rocmatrix.audit.path import PathAudit
from rocmatrix.audit.published import PublishedAudit
from rocmatrix.cli.main import main
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.records import Finding, Outcome, Severity
from rocmatrix.releasing.load_model import Loaded, LoadedKernel, LoadReport, LoadState
from rocmatrix.releasing.watching import WatchedUser, newest_promises, stopped_at, unseen, watched
from tests.golden.content import PLAN, PROJECTS
from tests.golden.make_dist import DIST
from tests.system.hub import WRITER, RunningHub, serving

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2
ROOT = Path(__file__).resolve().parents[3]
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"


def audit(*findings: Finding) -> PublishedAudit:
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    outcome = Outcome.FAILED if failed else Outcome.PASSED
    one = PathAudit(path=f"acme/scale@v1/build/{VARIANT}", outcome=outcome, rules=(), binaries=(), findings=findings)
    return PublishedAudit(
        path="acme/scale@v1",
        outcome=outcome,
        audits=(one,),
        repo="acme/scale",
        revision="v1",
        commit="c" * 40,
        received=1,
    )


def loaded(*variants: Loaded) -> LoadedKernel:
    report = LoadReport(python="3.12", torch="2.15.0", rocm=None, client="0.17.2", variants=variants)
    base = audit()
    return LoadedKernel(
        path=base.path,
        outcome=base.outcome,
        audits=base.audits,
        repo=base.repo,
        revision=base.revision,
        commit=base.commit,
        received=1,
        load=report,
    )


def finding(severity: Severity) -> Finding:
    return Finding(rule="signature", severity=severity, what="it is not signed", where="x", fix="f", source="s")


def test_of_each_rocm_the_newest_torch_that_is_served_is_looked_at() -> None:
    plan: Plan = PLAN
    served = [cell for cell in plan.cells if cell.kernel == "scale" and cell.state is CellState.SERVED]
    assert served
    found = newest_promises(plan, "scale")
    assert {cell.rocm for cell in found} == {cell.rocm for cell in served}
    newest, oldest = replace(served[0], torch="2.13"), replace(served[0], torch="2.9")
    again = replace(plan, cells=(newest, oldest, replace(newest, torch="2.99", state=CellState.REFUSED)))
    assert newest_promises(again, "scale") == (newest,)


def test_what_holds_is_no_objection() -> None:
    user = WatchedUser(torch="2.13", rocm="7.2", variant=VARIANT)
    found = watched(audit(finding(Severity.NOTE), finding(Severity.WARNING)), (user,))
    assert (found.objections, found.undecided) == ((), ())


def test_a_finding_a_user_without_a_variant_and_a_failed_import_are_objections() -> None:
    assert watched(audit(finding(Severity.ERROR)), ()).objections == (
        f"acme/scale@v1/build/{VARIANT}: it is not signed",
    )
    lost = WatchedUser(torch="2.13", rocm="7.2", variant=None)
    assert watched(audit(), (lost,)).objections == ("acme/scale@v1 serves nobody with torch 2.13 on ROCm 7.2",)
    failed = Loaded(variant=VARIANT, state=LoadState.FAILED, said="ImportError: no")
    over = Loaded(variant="other", state=LoadState.PASSED_OVER, said="another is taken")
    (said,) = watched(loaded(failed, over), ()).objections
    assert said == f"acme/scale@v1: {VARIANT} does not load on torch 2.15.0: ImportError: no"


def test_what_this_machine_cannot_tell_is_neither_good_nor_an_objection() -> None:
    open_one = Loaded(variant=VARIANT, state=LoadState.UNDECIDED, said="it needs libtorch_hip.so")
    found = watched(loaded(open_one), ())
    assert (found.objections, len(found.undecided)) == ((), 1)
    found = unseen("acme/scale", MissingRequirementError("the Hub cannot be reached"))
    assert (found.objections, found.undecided) == ((), ("acme/scale: the Hub cannot be reached",))
    assert unseen("acme/scale", InputError("the Hub has no such kernel")).objections == (
        "acme/scale: the Hub has no such kernel",
    )


def test_what_an_audit_found_stays_when_a_later_step_fails() -> None:
    before = watched(audit(finding(Severity.ERROR)), ())
    lacking = stopped_at(before, MissingRequirementError("this Python has no torch"))
    assert (lacking.audit, lacking.objections) == (before.audit, before.objections)
    assert lacking.undecided == ("acme/scale: this Python has no torch",)
    wrong = stopped_at(before, InputError("it has no such variant"))
    assert wrong.objections == (*before.objections, "acme/scale: it has no such variant")


def test_a_hub_that_does_not_answer_is_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import huggingface_hub.constants  # noqa: PLC0415 - read when it is imported, changed for this test

    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    matrix = ROOT / "matrix.yaml"
    assert main(["watch", "--matrix", str(matrix)]) == 3
    assert "the Hub cannot be reached" in capsys.readouterr().out


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A Hub with the golden kernel ``acme/scale``; it has no ``acme/norm``."""
    with serving(tmp_path_factory.mktemp("hub")) as running:
        api = running.api(WRITER)
        api.create_repo("acme/scale", repo_type="kernel")
        api.create_branch("acme/scale", branch="v2", repo_type="kernel")
        variants = DIST / "kernels/scale/build"
        files = [path for path in variants.rglob("*") if path.is_file()]
        added = [CommitOperationAdd(f"build/{path.relative_to(variants).as_posix()}", path) for path in files]
        api.create_commit("acme/scale", added, commit_message="m", repo_type="kernel", revision="v2")
        yield running


@pytest.fixture
def watch(hub: RunningHub, tmp_path: Path) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Return a function that runs the verb in an action, for a matrix with both kernels."""
    for kernel, manifest in PROJECTS.items():
        (tmp_path / kernel).mkdir(parents=True)
        (tmp_path / kernel / "build.toml").write_text(manifest.replace("golden/", "acme/"))
    (tmp_path / "kernels/scale/scale.hip").touch()
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(
        "schema: 1\nkernels: [kernels/norm, kernels/scale]\ntorch: ['2.13']\nrocm: ['7.1', '7.2']\n"
        "archs: [gfx942]\ntoolchains: {'7.1': llvm, '7.2': llvm}\n"
    )
    variables = {**hub.environment(), "PYTHONPATH": str(ROOT / "src"), "GITHUB_ACTIONS": "true"}
    command = [sys.executable, "-m", "rocmatrix", "watch", "--matrix", str(matrix)]
    return lambda: subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("faults", "result"),
    [
        ([], (5, "objection: acme/norm: the Hub has no such kernel, or does not show it")),
        (
            [Fault(endpoint="info", kind=FaultKind.STATUS, status=503)],
            (3, "not told: acme/norm: the Hub answered with"),
        ),
    ],
)
def test_a_kernel_that_cannot_be_looked_at_hides_none_beside_it(
    hub: RunningHub,
    watch: Callable[[], subprocess.CompletedProcess[str]],
    faults: list[Fault],
    result: tuple[int, str],
) -> None:
    hub.faults.plan(*faults)
    code, said = result
    done = watch()
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    assert "::error title=watch::acme/norm: " in done.stderr
    assert "torch 2.13 on ROCm 7.2 gets torch-stable-abi210-rocm72-x86_64-linux" in done.stdout
    assert "watch acme/scale: holds" in done.stdout
