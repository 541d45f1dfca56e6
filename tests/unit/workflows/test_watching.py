"""What is watched of published kernels: whose promise is looked at, and what of a look is an objection."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.audit.path import PathAudit
from rocmatrix.audit.published import PublishedAudit
from rocmatrix.cli.main import main
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.records import Finding, Outcome, Severity
from rocmatrix.releasing.load_model import Loaded, LoadedKernel, LoadReport, LoadState
from rocmatrix.releasing.watching import WatchedUser, newest_promises, stopped_at, unseen, watched
from tests.golden.content import PLAN

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
    matrix = Path(__file__).resolve().parents[3] / "matrix.yaml"
    assert main(["watch", "--matrix", str(matrix)]) == 3
    assert "the Hub cannot be reached" in capsys.readouterr().out
