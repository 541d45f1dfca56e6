"""Reading a variant directory: the client's digest, metadata, _ops.py, and nothing from outside of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from kernels._rust import Digest, DigestAlgorithm

from rocmatrix import document
from rocmatrix.audit.path import audit_path
from rocmatrix.audit.variant import read_file, read_folder
from rocmatrix.errors import InputError
from tests.unit.binary.samples import MACHINES

OPS = """import torch
from . import _gemm_rocm_0123abcd
ops = torch.ops._gemm_rocm_0123abcd


def add_op_namespace_prefix(op_name: str) -> str:
    return f"_gemm_rocm_0123abcd::{op_name}"
"""
METADATA = """{"name": "gemm", "id": "_gemm_rocm_0123abcd", "version": 1, "license": "x", "python-depends": [],
 "backend": {"type": "rocm", "archs": ["gfx942"]}, "another-key": 1,
 "digest": {"algorithm": "sha256", "files": {"__init__.py": "x"}}}"""


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    folder = tmp_path / "build" / "torch-stable-abi210-rocm72-x86_64-linux"
    (folder / "sub" / "__pycache__").mkdir(parents=True)
    (folder / "__init__.py").write_text("x = 1\n")
    (folder / "_ops.py").write_text(OPS)
    (folder / "metadata.json").write_text(METADATA)
    (folder / "sub" / "data.bin").write_bytes(bytes(3_000_000))
    return folder


@pytest.mark.parametrize(
    ("algorithm", "name"), [(DigestAlgorithm.SHA256, "sha256"), (DigestAlgorithm.SHA512, "sha512")]
)
def test_the_digest_is_the_one_that_the_client_computes(variant: Path, algorithm: DigestAlgorithm, name: str) -> None:
    for ignored in ("metadata.json.sigstore", "sub/__pycache__/x.py", "__init__.pyc"):
        (variant / ignored).write_text("not covered")
    for covered in ("sub/metadata.json", "sub/metadata.json.sigstore", ".hidden"):
        (variant / covered).write_text("covered")
    (variant / "link.py").symlink_to("__init__.py")
    files = read_folder(variant, MACHINES).files
    assert {file.path: file.client_digest[name] for file in files} == Digest.hash_variant(algorithm, variant).files


def test_metadata_is_read_as_far_as_rules_look_at_it(variant: Path) -> None:
    metadata = read_folder(variant, MACHINES).metadata
    assert metadata
    assert (metadata.name, metadata.id, metadata.archs) == ("gemm", "_gemm_rocm_0123abcd", ("gfx942",))
    assert (metadata.algorithm, metadata.digests) == ("sha256", {"__init__.py": "x"})


def test_ops_are_read_without_being_run(variant: Path) -> None:
    (variant / "_ops.py").write_text(OPS + "\nraise SystemExit\n")
    ops = read_folder(variant, MACHINES).ops
    assert ops
    assert (ops.imports, ops.namespaces) == (("_gemm_rocm_0123abcd",), ("_gemm_rocm_0123abcd",))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("_ops.py", b"def"),
        ("_ops.py", b"\0"),
        ("_ops.py", b"\xff\xfe"),
        ("_ops.py", b"(" * 60_000),
        ("_ops.py", b"-" * 60_000 + b"1"),
        ("_ops.py", b"a" + b".a" * 30_000),
        ("_ops.py", b"#" * 70_000),
        ("metadata.json", b""),
        ("metadata.json", b"{"),
        ("metadata.json", b'{"version": 1, "python-depends": []}'),
        ("metadata.json", b'{"name": "\xff"}'),
        ("metadata.json", b"[" * 500_000),
        ("metadata.json", b" " * 2_000_000),
        ("x.so", b""),
        ("x.so", b"text"),
        ("sub/libx.so.1", b"text"),
        ("no_suffix", b"\x7fELF and nothing else"),
    ],
)
def test_a_damaged_file_is_reported_once_and_the_others_are_read(variant: Path, name: str, content: bytes) -> None:
    (variant / name).write_bytes(content)
    facts = read_folder(variant, MACHINES)
    assert [file.path for file in facts.unreadable] == [name]
    assert "__init__.py" in {file.path for file in facts.files}


def test_links_out_of_the_directory_are_not_followed(variant: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    (variant / "out.py").symlink_to(tmp_path / "secret")
    (variant / "folder").symlink_to(tmp_path / "folder")
    (variant / "up").symlink_to("..")
    (variant / "nowhere").symlink_to("missing")
    (variant / "itself").symlink_to("itself")
    os.mkfifo(variant / "pipe.so")
    Path(os.fsdecode(bytes(variant) + b"/\xff.py")).write_text("not UTF-8")
    facts = read_folder(variant, MACHINES)
    assert [(file.path, file.what) for file in facts.refused] == [("\\udcff.py", "\\udcff.py: the name is not UTF-8")]
    assert facts.strays == ("folder", "itself", "nowhere", "out.py", "pipe.so", "up")
    document.to_json(facts)
    assert "out.py" not in {file.path for file in facts.files}


@pytest.mark.parametrize(("name", "depth"), [("d" * 200, 30), ("d", 1200)])
def test_folders_that_are_nested_too_deep_are_one_finding_with_a_short_name(
    variant: Path, name: str, depth: int
) -> None:
    place = os.open(variant, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=place)
        below = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    try:
        facts = read_folder(variant, MACHINES)
    finally:
        subprocess.run(["rm", "-rf", "--", variant / name], check=True)  # Python's own removal recurses too deep
    (refused,) = facts.refused
    assert len(refused.path) < 110
    assert "more than 100 deep" in refused.what or "over 4095 bytes" in refused.what
    assert "__init__.py" in {file.path for file in facts.files}
    document.to_json(facts)


def test_a_single_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.so")
    assert read_file(tmp_path / "x.so", MACHINES).unreadable[0].what == "this is not a regular file"


@pytest.mark.parametrize(
    "make", [lambda _: None, lambda path: path.mkdir(), os.mkfifo], ids=["missing", "empty", "pipe"]
)
def test_a_path_with_nothing_to_audit_is_an_input_error(tmp_path: Path, make: object) -> None:
    path = tmp_path / "x"
    assert callable(make)
    make(path)
    with pytest.raises(InputError, match="Name a variant directory"):
        audit_path(path)


def test_a_directory_is_held_against_its_own_name_and_metadata(variant: Path) -> None:
    whats = {finding.what for finding in audit_path(variant).findings}
    assert "metadata.json lists gfx942, but the binary has no code for it" in whats
    assert any("the one extension module must be _gemm_rocm_0123abcd.abi3.so; found: none" in what for what in whats)
    assert "__init__.py does not have the bytes that metadata.json speaks of" in whats
