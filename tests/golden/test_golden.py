"""The golden output folder is what the stages of today write: documents, records, variants."""

import json
from pathlib import Path

import jsonschema
import pytest

from rocmatrix import document, schemas
from rocmatrix.metadata import Metadata
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Coverage, Outcome, Tested
from rocmatrix.store import Absent, Store
from tests.golden.content import EMULATED, NORM, NOT_BUILT, PLAN
from tests.golden.make_dist import DIST
from tests.system import client

REMAKE = "run `python -m tests.golden.make_dist`"
KINDS = {
    "plan.json": Plan,
    "build.json": BuildRecord,
    "audit.json": AuditRecord,
    "check.json": CheckRecord,
    "coverage.json": Coverage,
    "metadata.json": Metadata,
}
DOCUMENTS = sorted(path.relative_to(DIST).as_posix() for path in DIST.rglob("*.json"))
VARIANTS = sorted(path.parent.relative_to(DIST).as_posix() for path in DIST.rglob("metadata.json"))


@pytest.fixture
def store() -> Store:
    return Store(DIST)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_what_its_class_writes_today(name: str) -> None:
    content = (DIST / name).read_bytes()
    kind = KINDS[Path(name).name]
    assert document.to_json(document.from_json(content, kind)) == content, REMAKE


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_validates_against_its_schema(name: str) -> None:
    schema = json.loads(schemas.shipped(Path(name).name.removesuffix(".json")))
    jsonschema.validate(json.loads((DIST / name).read_bytes()), schema)


def test_the_store_reads_the_plan(store: Store) -> None:
    assert store.read_plan() == PLAN, REMAKE


def test_the_store_relies_on_every_record(store: Store) -> None:
    for unit in PLAN.units:
        build = store.read_record(unit.id, BuildRecord)
        assert isinstance(build, BuildRecord), build
        assert (build.outcome is Outcome.FAILED) == (unit.id in NOT_BUILT)
        for record in (store.read_record(unit.id, AuditRecord), store.read_record(unit.id, CheckRecord)):
            assert isinstance(record, Absent) == (unit.id in NOT_BUILT), record
            assert isinstance(record, Absent) or record.outcome is Outcome.PASSED


def test_the_folder_has_a_cell_of_every_fate(store: Store) -> None:
    coverage = store.read_coverage("scale")
    assert isinstance(coverage, Coverage)
    assert not coverage.complete
    assert {cell.tested for cell in coverage.cells if cell.variant} == {Tested.EMULATED, Tested.UNTESTED}
    assert {cell.state for cell in PLAN.cells if cell.kernel == "scale"} == set(CellState)
    assert sum("the build failed" in cell.reason for cell in coverage.cells) == 1
    complete = store.read_coverage("norm")
    assert isinstance(complete, Coverage)
    assert complete.complete


@pytest.mark.parametrize("name", VARIANTS)
def test_the_client_reads_and_hashes_a_variant(name: str) -> None:
    read = client.read_metadata(DIST / name)
    assert client.digest_violations(DIST / name) == []
    assert read.provenance
    assert read.backend.archs == (None if name.endswith(NORM.partition(".")[2]) else ["gfx942"])


def test_the_emulated_unit_says_so_in_its_metadata(store: Store) -> None:
    variant = store.variants_folder("scale") / PLAN.unit(EMULATED).variant
    read = document.from_json((variant / "metadata.json").read_bytes(), Metadata)
    assert read.rocmatrix.checked.tested is Tested.EMULATED
