"""What metadata.json says of a collected variant, as the client reads it."""

import json
import subprocess
from dataclasses import replace

import jsonschema
from kernels._rust import Digest, DigestAlgorithm
from kernels._rust import Metadata as ClientMetadata

from rocmatrix import schemas
from rocmatrix.events import Notice
from rocmatrix.metadata import TorchRange
from rocmatrix.plan.model import Abi
from rocmatrix.records import BuildRecord, Tested
from tests.unit.collect.conftest import EXTENSION, SECOND, TOOLCHAIN, Project
from tests.unit.conftest import UNIT


def test_the_client_reads_the_metadata(project: Project) -> None:
    project.go_through()
    project.collect()
    read = ClientMetadata.read_from_file(project.metadata_path())
    assert (str(read.name), read.id, read.version, read.license) == ("gemm", EXTENSION, 3, "Apache-2.0")
    assert (read.python_depends, read.kernel_depends) == (["einops"], [])
    assert (str(read.backend.backend_type), read.backend.archs) == ("rocm", ["gfx942"])
    assert read.source == "https://example.org/kernels.git"
    assert read.upstream is None


def test_the_clients_digest_of_the_variant_is_the_one_in_the_metadata(project: Project) -> None:
    project.go_through()
    project.collect()
    read = ClientMetadata.read_from_file(project.metadata_path())
    assert read.digest
    read.digest.validate(Digest.hash_variant(DigestAlgorithm.SHA256, project.metadata_path().parent))
    assert set(read.digest.files) == {"__init__.py", "data/table.bin", f"{EXTENSION}.abi3.so"}


def test_kernels_that_this_one_needs_are_named(project: Project) -> None:
    manifest = project.folder / "build.toml"
    manifest.write_text(
        manifest.read_text().replace(
            "python-depends", 'kernel-depends = [{repo-id = "a/b", version = 2}]\npython-depends'
        )
    )
    project.go_through()
    project.collect()
    (needed,) = ClientMetadata.read_from_file(project.metadata_path()).kernel_depends
    assert needed.repo_id == "a/b"


def test_our_block_says_what_made_the_variant_and_how_it_was_checked(project: Project) -> None:
    project.go_through()
    project.go_through(SECOND)
    project.collect()
    block = project.metadata(SECOND).rocmatrix
    assert block.toolchain
    assert (block.toolchain.description, block.toolchain.compilers) == (TOOLCHAIN.description, TOOLCHAIN.compilers)
    assert block.headers
    assert block.headers.torch == "2.13.0"
    assert (block.unit, block.isolation, block.checked.tested) == (SECOND, "host", Tested.EMULATED)
    assert block.artifact_digest == project.store.payload_digest(SECOND)
    assert block.torch == TorchRange(min="2.9", max="2.14")


def test_keys_are_the_clients_spelling_and_absent_values_are_left_out(project: Project) -> None:
    project.go_through()
    project.collect()
    written = json.loads(project.metadata_path().read_bytes())
    assert "kernel-depends" in written
    assert "upstream" not in written
    assert "recipe-digest" in written["rocmatrix"]["toolchain"]
    assert "image" not in json.dumps(written)
    jsonschema.validate(written, json.loads(schemas.shipped("metadata")))


def test_the_same_inputs_give_the_same_bytes(project: Project) -> None:
    project.go_through()
    project.collect()
    first = project.metadata_path().read_bytes()
    record = project.store.read_record(UNIT, BuildRecord)
    assert isinstance(record, BuildRecord)
    assert record.headers
    later = replace(record.headers, transferred=0, how="cache")
    project.store.write_record(replace(record, started="2027-01-01T00:00:00Z", seconds=9.0, headers=later))
    project.collect()
    assert project.metadata_path().read_bytes() == first


def test_provenance_is_the_commit_of_the_sources(project: Project) -> None:
    project.go_through()
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    subprocess.run(["git", "add", "kernels"], cwd=project.root, check=True)
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "commit", "-qm", "x"], cwd=project.root, check=True)
    project.collect()
    read = ClientMetadata.read_from_file(project.metadata_path()).provenance
    assert read
    assert read.kernel
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project.root, check=True, capture_output=True, text=True)
    assert (read.kernel.commit, read.kernel.dirty) == (head.stdout.strip(), False)
    assert read.kernel_builder.version == "rocmatrix/0.1.0"
    assert not [event for event in project.events if isinstance(event, Notice)]


def test_sources_outside_git_have_no_provenance_and_that_is_said(project: Project) -> None:
    project.go_through()
    project.collect()
    assert ClientMetadata.read_from_file(project.metadata_path()).provenance is None
    (notice,) = [event for event in project.events if isinstance(event, Notice)]
    assert (notice.level, notice.where) == ("warning", "kernels/gemm")
    assert notice.message == "metadata.json names no commit: it is not in a git repository"


def test_a_noarch_unit_has_no_archs_and_needs_no_extension(project: Project) -> None:
    plan = replace(
        project.plan,
        units=tuple(
            replace(unit, abi=Abi.NOARCH, archs=(), toolchain=None) if unit.id == UNIT else unit
            for unit in project.plan.units
        ),
    )
    project.build()
    (project.store.payload(UNIT) / f"{EXTENSION}.abi3.so").unlink()
    record = json.loads((project.store.unit_folder(UNIT) / "build.json").read_bytes())
    record |= {"artifact_digest": project.store.payload_digest(UNIT), "toolchain": None, "headers": None}
    (project.store.unit_folder(UNIT) / "build.json").write_text(json.dumps(record))
    project.audit(archs=())
    project.collect(plan)
    read = ClientMetadata.read_from_file(project.metadata_path())
    assert read.backend.archs is None
    assert read.id == EXTENSION
    block = project.metadata().rocmatrix
    assert (block.toolchain, block.headers) == (None, None)
