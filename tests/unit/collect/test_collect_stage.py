"""The stage collect: what is published, what metadata.json says, and what became of every promise."""

import json
import os
from pathlib import Path

import pytest

from rocmatrix.digest import of_folder
from rocmatrix.errors import InputError
from rocmatrix.events import Stage, State, UnitFinished
from rocmatrix.plan.model import UnitId
from rocmatrix.records import CellCoverage, Outcome, Tested
from rocmatrix.store import Absent
from tests.unit.collect.conftest import EXTENSION, SECOND, Project
from tests.unit.conftest import UNIT


def cell(project: Project, name: str) -> CellCoverage:
    coverage = project.store.read_coverage("gemm")
    assert not isinstance(coverage, Absent)
    return next(found for found in coverage.cells if found.cell == f"gemm.{name}")


def test_a_unit_that_went_through_all_stages_is_collected_with_its_payload(project: Project) -> None:
    project.go_through()
    project.collect()
    variant = project.metadata_path().parent
    assert (variant / f"{EXTENSION}.abi3.so").read_bytes() == b"\x7fELF"
    (variant / "metadata.json").unlink()
    assert of_folder(variant) == project.store.payload_digest(UNIT)


def test_modes_do_not_depend_on_the_user(project: Project) -> None:
    project.go_through()
    before = os.umask(0o077)
    try:
        project.collect()
    finally:
        os.umask(before)
    variant = project.metadata_path().parent
    assert {path.stat().st_mode & 0o777 for path in variant.rglob("*") if path.is_file()} == {0o644}
    assert (variant / "data").stat().st_mode & 0o777 == 0o755
    assert variant.parent.stat().st_mode & 0o777 == 0o755


def test_coverage_is_complete_when_every_served_cell_has_its_variant(project: Project) -> None:
    project.go_through()
    project.go_through(SECOND)
    coverage = project.collect()
    assert coverage.complete
    assert coverage == project.store.read_coverage("gemm")
    assert [variant.unit for variant in coverage.variants] == [UNIT, SECOND]
    on_disk = sum(path.stat().st_size for path in project.metadata_path().parent.rglob("*") if path.is_file())
    assert coverage.variants[0].size == on_disk
    assert cell(project, "torch2.13-rocm7.2").variant == project.plan.unit(UNIT).variant
    assert cell(project, "torch2.13-rocm7.2").tested is Tested.EMULATED


def test_a_refused_cell_is_named_with_the_plans_reason(project: Project) -> None:
    project.collect()
    refused = cell(project, "torch2.10-rocm7.2")
    assert (refused.variant, refused.reason) == (None, "torch 2.10 was never published for ROCm 7.2")


def test_what_an_earlier_run_built_is_collected_and_what_is_missing_is_named(project: Project) -> None:
    project.go_through(SECOND)
    coverage = project.collect()
    assert not coverage.complete
    assert [variant.unit for variant in coverage.variants] == [SECOND]
    missing = cell(project, "torch2.13-rocm7.2")
    assert (missing.variant, missing.tested) == (None, Tested.UNTESTED)
    assert missing.reason == f"{UNIT} is missing: there is no build to rely on: not done before"


def fail_build(project: Project) -> None:
    project.build(outcome=Outcome.FAILED, error="gemm.hip:3:1: error: no\nmore")


def fail_audit(project: Project) -> None:
    project.build()
    project.audit(outcome=Outcome.FAILED)


def skip_audit(project: Project) -> None:
    project.build()


def fail_check(project: Project) -> None:
    project.build()
    project.audit()
    project.check(outcome=Outcome.FAILED)


def change_payload(project: Project) -> None:
    project.go_through()
    (project.store.payload(UNIT) / "__init__.py").write_text("changed")


def lose_an_arch(project: Project) -> None:
    project.build()
    project.audit(archs=(("gfx942",), ("gfx90a",)))


def link_a_folder(project: Project) -> None:
    project.build()
    payload = project.store.payload(UNIT)
    (payload / "link").symlink_to(payload / "data")
    project.audit()


def another_extension(project: Project) -> None:
    project.build()
    payload = project.store.payload(UNIT)
    (payload / f"{EXTENSION}.abi3.so").rename(payload / "_gemm_rocm_ffffffff.abi3.so")
    record = json.loads((payload.parent / "build.json").read_text())
    record["artifact_digest"] = project.store.payload_digest(UNIT)
    (payload.parent / "build.json").write_text(json.dumps(record))
    project.audit()


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (fail_build, "the build failed: gemm.hip:3:1: error: no"),
        (fail_audit, "the audit failed: needed: libfoo.so is not allowed"),
        (skip_audit, "there is no audit to rely on: not done before"),
        (fail_check, "the check failed: by the emulator, functional mode"),
        (change_payload, "there is no build to rely on: the payload is not the one that build.json speaks of"),
        (lose_an_arch, "audit.json found no gfx arch, but the plan promises gfx942"),
        (link_a_folder, "its payload has a link to a folder, or changed while it was collected"),
        (another_extension, f"its payload has no {EXTENSION}.abi3.so, which build.json and build.toml name"),
    ],
)
def test_a_unit_is_left_out_and_its_cell_names_the_stage(project: Project, before: object, reason: str) -> None:
    assert callable(before)
    before(project)
    coverage = project.collect()
    assert not coverage.complete
    assert not project.metadata_path().parent.exists()
    assert cell(project, "torch2.13-rocm7.2").reason == f"{UNIT} is missing: {reason}"
    event = next(event for event in project.events if isinstance(event, UnitFinished) and event.unit == UNIT)
    assert (event.stage, event.state, event.reason) == (Stage.COLLECT, State.SKIPPED, reason)


def test_a_cell_whose_check_failed_says_what_tested_it(project: Project) -> None:
    fail_check(project)
    project.collect()
    assert cell(project, "torch2.13-rocm7.2").tested is Tested.EMULATED


def test_a_unit_that_nobody_checked_is_collected_as_untested(project: Project) -> None:
    project.build()
    project.audit()
    project.collect()
    covered = cell(project, "torch2.13-rocm7.2")
    assert (covered.tested, covered.reason) == (Tested.UNTESTED, "there is no check to rely on: not done before")
    assert project.metadata().rocmatrix.checked.tested is Tested.UNTESTED


def test_a_variant_that_is_no_longer_good_is_gone_after_the_next_collect(project: Project) -> None:
    project.go_through()
    project.collect()
    fail_audit(project)
    project.collect()
    assert not project.metadata_path().parent.exists()


def test_a_collect_that_is_killed_midway_leaves_no_coverage_of_other_variants(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.go_through()
    project.collect()

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(project.store, "write_coverage", kill)
    with pytest.raises(KeyboardInterrupt):
        project.collect()
    assert project.metadata_path().is_file()
    assert isinstance(project.store.read_coverage("gemm"), Absent)


def test_a_kernel_whose_manifest_is_gone_is_an_input_error(project: Project) -> None:
    (project.folder / "build.toml").unlink()
    with pytest.raises(InputError, match=r"build\.toml"):
        project.collect()


def test_nothing_is_left_in_the_work_folder(project: Project) -> None:
    project.go_through()
    project.collect()
    assert list(project.store.work.iterdir()) == []


def test_a_unit_id_names_its_variant_folder(project: Project) -> None:
    project.go_through()
    project.collect()
    assert UnitId(f"gemm.{project.metadata_path().parent.name}") == UNIT
    assert isinstance(project.metadata_path(), Path)
