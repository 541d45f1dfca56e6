"""Rules about bytes and sources, and waivers of any rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocmatrix.audit.content_facts import (
    Contents,
    FoundPath,
    FoundSecret,
    PythonFile,
    SignatureFacts,
    SignatureState,
    SourceLine,
)
from rocmatrix.audit.facts import Expectation
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.rules import judge, judge_with_waivers
from rocmatrix.plan.audit_choice import AuditChoice, Waiver
from rocmatrix.records import Severity
from tests.unit.audit.samples import EXPECTED, EXTENSION, GOOD, METADATA, SO, with_elf

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
FOREIGN = replace(EXPECTED, files=None)
COLLECTED = replace(GOOD, metadata=METADATA)
MEGABYTE = 1_000_000


def found(contents: Contents, expected: Expectation = EXPECTED) -> list[tuple[str, Severity, str]]:
    facts = replace(GOOD if expected.ours else COLLECTED, contents=contents)
    return [(one.rule, one.severity, one.what) for one in judge(facts, expected, load_policy())]


@pytest.mark.parametrize("expected", [EXPECTED, FOREIGN])
def test_a_credential_is_an_error_in_anybodys_file(expected: Expectation) -> None:
    secret = FoundSecret(path=SO, offset=7, kind="GitHub token", shown="ghp_")
    assert found(Contents(secrets=(secret,)), expected) == [
        ("secrets", ERROR, "there is what looks like a GitHub token (ghp_...)")
    ]


@pytest.mark.parametrize(("expected", "severity"), [(EXPECTED, ERROR), (FOREIGN, WARNING)])
def test_a_path_of_the_build_machine_is_an_error_in_ours_alone(expected: Expectation, severity: Severity) -> None:
    path = FoundPath(path=SO, offset=7, text="/home/ann/gemm/k.hip", count=3)
    ((rule, found_severity, what),) = found(Contents(build_paths=(path,)), expected)
    assert (rule, found_severity) == ("build-paths", severity)
    assert what.endswith("/home/ann/gemm/k.hip and 2 more below the same folder")


def test_very_many_paths_of_one_file_are_not_all_told() -> None:
    paths = tuple(FoundPath(path=SO, offset=n, text=f"/home/ann/{n}/k", count=1) for n in range(500))
    assert len(found(Contents(build_paths=paths))) == 20


class TestSize:
    def test_a_file_and_a_variant_have_a_budget(self) -> None:
        assert found(Contents(sizes=((SO, 200 * MEGABYTE), ("a", 200 * MEGABYTE)))) == []
        ((rule, severity, what),) = found(Contents(sizes=((SO, 200 * MEGABYTE + 100_000),)))
        assert (rule, severity, what) == ("size", ERROR, "it has 200.1 MB, and a file may have 200.0 MB")
        files = tuple((name, 150 * MEGABYTE) for name in "abc")
        assert [what for _, _, what in found(Contents(sizes=files))] == [
            "the variant has 450.0 MB, and may have 400.0 MB"
        ]

    def test_the_kernels_own_budget_counts_instead(self) -> None:
        small = replace(EXPECTED, choice=AuditChoice(max_file_size=MEGABYTE, max_variant_size=3 * MEGABYTE))
        files = Contents(sizes=(("a", 2 * MEGABYTE), ("b", 2 * MEGABYTE)))
        findings = judge(replace(GOOD, contents=files), small, load_policy())
        assert [one.where for one in findings] == ["a", "b", "."]
        assert {one.source for one in findings} == {"audit of the kernel in matrix.yaml"}
        large = replace(EXPECTED, choice=AuditChoice(max_file_size=500 * MEGABYTE, max_variant_size=500 * MEGABYTE))
        assert found(Contents(sizes=((SO, 450 * MEGABYTE),)), large) == []

    def test_of_other_peoples_files_it_is_a_warning(self) -> None:
        assert [one[1] for one in found(Contents(sizes=((SO, 201 * MEGABYTE),)), FOREIGN)] == [WARNING]


class TestPython:
    @pytest.mark.parametrize(
        ("source", "rule", "what"),
        [
            ({"problem": "it is not Python"}, "python", "cannot be imported: it is not Python"),
            ({"newer": (SourceLine(line=3, text="match"),)}, "python", "Python 3.9 cannot load this: match"),
            ({"absolute": (SourceLine(line=3, text="gemm"),)}, "python", "it imports gemm by its absolute name"),
            ({"absolute": (SourceLine(line=3, text="gemm._ops"),)}, "python", "it imports gemm._ops by its absolute"),
            ({"namespaces": (SourceLine(line=3, text=EXTENSION),)}, "ops-namespace", f"torch.ops.{EXTENSION}"),
            ({"namespaces": (SourceLine(line=3, text="gemm"),)}, "ops-namespace", "torch.ops.gemm"),
            ({"registered": (SourceLine(line=3, text="gemm::gemm"),)}, "ops-namespace", "the name 'gemm::gemm'"),
        ],
    )
    def test_what_the_client_cannot_load(self, source: dict[str, Any], rule: str, what: str) -> None:
        file = replace(PythonFile(path="layers.py"), **source)
        facts = replace(GOOD, contents=Contents(python=(file,)))
        (finding,) = judge(facts, EXPECTED, load_policy())
        assert (finding.rule, finding.severity) == (rule, ERROR)
        assert what in finding.what
        assert finding.where == ("layers.py" if "problem" in source else "layers.py:3")

    @pytest.mark.parametrize(
        "source",
        [
            PythonFile(path="a.py", absolute=(SourceLine(line=1, text="torch"), SourceLine(line=2, text="gemma"))),
            PythonFile(path="a.py", namespaces=(SourceLine(line=1, text="aten"),)),
            PythonFile(path="_ops.py", namespaces=(SourceLine(line=1, text=EXTENSION),)),
        ],
    )
    def test_what_it_can(self, source: PythonFile) -> None:
        assert found(Contents(python=(source,))) == []


class TestSignature:
    @pytest.mark.parametrize(
        ("state", "severity"),
        [
            (SignatureState.ABSENT, NOTE),
            (SignatureState.PRESENT, NOTE),
            (SignatureState.UNREADABLE, ERROR),
            (SignatureState.OTHER_CONTENT, ERROR),
        ],
    )
    def test_the_state_of_a_published_variant_is_said(self, state: SignatureState, severity: Severity) -> None:
        contents = Contents(signature=SignatureFacts(state=state))
        ((rule, found_severity, _),) = found(contents, replace(FOREIGN, published=True))
        assert (rule, found_severity) == ("signature", severity)

    def test_nobody_expects_a_signature_of_what_was_just_built(self) -> None:
        contents = Contents(signature=SignatureFacts(state=SignatureState.ABSENT))
        assert found(contents) == found(contents, FOREIGN) == []


class TestWaivers:
    bad = with_elf(needed=("libamdhip64.so.7", "libfoo.so.1", "libbar.so.1"))

    def judged(self, *waivers: Waiver) -> tuple[list[tuple[str, str]], list[str]]:
        expected = replace(EXPECTED, choice=AuditChoice(waive=waivers))
        judged = judge_with_waivers(self.bad, expected, load_policy())
        return [(one.rule, one.what) for one in judged.findings], [one.finding.what for one in judged.waived]

    def test_a_waived_rule_is_not_held_against_the_unit_but_told_with_its_reason(self) -> None:
        waiver = Waiver(rule="needed", reason="both are in the image", where="matrix.yaml:5")
        expected = replace(EXPECTED, choice=AuditChoice(waive=(waiver,)))
        judged = judge_with_waivers(self.bad, expected, load_policy())
        assert judged.findings == ()
        assert [(one.finding.rule, one.reason, one.waiver) for one in judged.waived] == [
            ("needed", "both are in the image", "matrix.yaml:5")
        ] * 2

    def test_a_waiver_may_be_for_one_finding_only(self) -> None:
        kept, waived = self.judged(Waiver(rule="needed", reason="x", match="libfoo", where="matrix.yaml:5"))
        assert [what for _, what in kept] == ["it needs libbar.so.1, which users do not get with torch"]
        assert waived == ["it needs libfoo.so.1, which users do not get with torch"]

    @pytest.mark.parametrize(
        "waiver",
        [
            Waiver(rule="runpath", reason="x", where="matrix.yaml:5"),
            Waiver(rule="needed", reason="x", match="libbaz", where="matrix.yaml:5"),
        ],
    )
    def test_a_stale_waiver_is_an_error(self, waiver: Waiver) -> None:
        kept, waived = self.judged(waiver)
        assert waived == []
        assert kept[-1][0] == "waivers"
        assert f"the waiver of {waiver.rule} is stale" in kept[-1][1]

    def test_a_second_waiver_of_the_same_finding_is_stale(self) -> None:
        kept, _ = self.judged(
            Waiver(rule="needed", reason="x", where="matrix.yaml:5"),
            Waiver(rule="needed", reason="x", match="libfoo", where="matrix.yaml:6"),
        )
        assert [rule for rule, _ in kept] == ["waivers"]

    def test_a_waiver_for_other_variants_is_neither_used_nor_stale(self) -> None:
        kept, waived = self.judged(Waiver(rule="needed", reason="x", variants=("*-rocm71-*",), where="matrix.yaml:5"))
        assert (len(kept), waived) == (2, [])
        kept, waived = self.judged(Waiver(rule="needed", reason="x", variants=("*-rocm72-*",), where="matrix.yaml:5"))
        assert (kept, len(waived)) == ([], 2)
