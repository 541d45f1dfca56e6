"""Artifacts of a workflow's rows: what is taken as what, whatever else a machine uploaded, and where one lies flat."""

import json
import shutil
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.collect.row_artifacts import read_row_artifacts
from rocmatrix.digest import of_folder
from rocmatrix.errors import ExitCode, InputError
from rocmatrix.records import AuditRecord, BuildRecord
from rocmatrix.store import Store
from tests.unit.collect.conftest import Project
from tests.unit.conftest import UNIT


def artifacts(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "plan.json").write_text(name)
    return folder


def test_builds_and_the_emulator_s_records_are_taken_from_the_rows_of_the_plan_alone(tmp_path: Path) -> None:
    others = ("unit-*", "unit-a b", "unit-a-gpu", "unit-evil", "unit-evil-check")
    folder = artifacts(tmp_path / "parts", "unit-a", "unit-b", "unit-a-check", *others)
    found = read_row_artifacts(folder, ("a", "b", "c"))
    assert found.parts.whole == (folder / "unit-a", folder / "unit-b")
    assert found.parts.emulated == (folder / "unit-a-check",)
    assert found.parts.checks == tuple(folder / name for name in others)
    assert found.hosted == (folder / "unit-a", folder / "unit-b", folder / "unit-a-check")


def test_digests_are_stated_of_what_was_built_and_of_what_the_emulator_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = artifacts(tmp_path / "parts", "unit-a", "unit-a-check", "unit-b", "unit-a-gpu", "unit-evil")
    assert main(["digest", "--artifacts", str(folder), "--rows", "a b c"]) == ExitCode.DONE
    said = json.loads(capsys.readouterr().out)
    assert said == {name: of_folder(folder / name) for name in ("unit-a", "unit-a-check", "unit-b")}


def test_the_only_artifact_of_the_only_row_lies_flat_and_has_the_row_s_name(
    tmp_path: Path, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """As download-artifact lays it from v5 on; the digest that is stated of it is that of `unit-<row>`."""
    project.store.write_plan(project.plan)
    project.go_through()
    folder, stated = tmp_path / "parts", tmp_path / "stated"
    shutil.copytree(project.store.root, folder)
    asked = ["--artifacts", str(folder), "--rows", "001-llvm"]
    assert main(["digest", *asked]) == ExitCode.DONE
    said = capsys.readouterr().out
    assert json.loads(said) == {"unit-001-llvm": of_folder(folder)}
    stated.write_text(said)
    found = read_row_artifacts(folder, ("001-llvm",))
    assert (found.parts.whole, found.parts.emulated, found.parts.checks) == ((folder,), (), ())
    assert main(["digest", *asked, "--check", str(stated)]) == ExitCode.DONE
    (folder / "units" / UNIT / "payload/__init__.py").write_text("# evil")
    assert main(["digest", *asked, "--check", str(stated)]) == ExitCode.INPUT
    assert "it was replaced or changed" in capsys.readouterr().err


def test_what_is_no_artifact_of_these_rows_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flat, none = artifacts(tmp_path, "flat") / "flat", artifacts(tmp_path / "none", "unit-evil")
    with pytest.raises(InputError, match="there is one artifact of 2 rows"):
        read_row_artifacts(flat, ("a", "b"))
    with pytest.raises(InputError, match="no build of the rows is here: unit-a, unit-b"):
        read_row_artifacts(none, ("a", "b"))
    with pytest.raises(InputError, match="this is no folder of artifacts"):
        read_row_artifacts(tmp_path / "no", ("a",))
    for words, said in (
        (["--artifacts", str(flat)], "--artifacts and --rows go together"),
        (["--rows", "a"], "--artifacts and --rows go together"),
        (["--artifacts", str(flat), "--rows", " "], "the id of a row is needed"),
        (["--artifacts", str(flat), "--rows", "a ../b"], "'../b' is no id of a row"),
    ):
        for verb in ("digest", "collect"):
            assert main([verb, *words]) == ExitCode.INPUT
            assert said in capsys.readouterr().err
    both = ["--artifacts", str(flat), "--rows", "a"]
    assert main(["digest", *both, str(flat)]) == ExitCode.INPUT
    assert "are both named" in capsys.readouterr().err
    assert main(["collect", *both, "--from", str(flat)]) == ExitCode.INPUT
    assert "by --artifacts and one by one" in capsys.readouterr().err


def test_what_was_stated_of_a_flat_artifact_holds_for_its_merge(
    tmp_path: Path, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """`collect` refuses it for its digest, or for a check that was stated, before it looks at anything else."""
    project.store.write_plan(project.plan)
    project.go_through()
    stated, out = tmp_path / "stated", Store(tmp_path / "out")
    rest = ["--artifacts", str(project.store.root), "--rows", "a", "--digests", str(stated), "--out", str(out.root)]
    good = of_folder(project.store.root)
    for digests, said in (
        ({"unit-a": "sha256:0"}, "it was replaced or changed"),
        ({"dist": good}, "no digest is stated for it"),
        ({"unit-a": good, "unit-a-check": "sha256:1"}, "'unit-a-check' is stated and not here"),
    ):
        stated.write_text(json.dumps(digests))
        assert main(["collect", *rest]) == ExitCode.INPUT
        assert said in capsys.readouterr().err
        for kind in (BuildRecord, AuditRecord):
            assert not isinstance(out.read_record(UNIT, kind), kind)  # type: ignore[type-var]
