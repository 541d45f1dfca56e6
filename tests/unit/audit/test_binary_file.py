"""One file that may be machine code: what it is taken for, what is refused in which words, when code is decoded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmatrix.audit import binary_file, code_objects
from rocmatrix.audit.facts import DeviceFile
from rocmatrix.audit.path import audit_path
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.variant import read_file, read_folder
from rocmatrix.binary.facts import CodeObject
from tests.unit.binary.corpus import COMPRESSED, PACKAGES, content

MACHINES = load_policy().machines


def device(tmp_path: Path, data: bytes, name: str = "code") -> DeviceFile:
    path = tmp_path / name
    path.write_bytes(data)
    facts = read_file(path, MACHINES)
    assert facts.unreadable == ()
    (found,) = facts.device_files
    return found


def why(tmp_path: Path, data: bytes, name: str = "x.so") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    (found,) = read_file(path, MACHINES).unreadable
    return found.what


@pytest.mark.parametrize("name", ["plain", "gfx942.co", *COMPRESSED, *PACKAGES])
def test_a_file_of_gpu_code_is_told_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    found = device(tmp_path, content(name))
    codes = [*found.code_objects, *(code for bundle in found.bundles for code in bundle.code_objects)]
    assert {code.arch for code in codes} >= {"gfx942"}
    assert found.size == len(content(name))


def test_a_folder_tells_shared_objects_from_gpu_code_and_from_all_else(tmp_path: Path) -> None:
    (tmp_path / "kernels.hsaco").write_bytes(content("gfx942.co"))
    (tmp_path / "bundle").write_bytes(content("zstd-2"))
    (tmp_path / "wrong.co").write_bytes(b"text")
    (tmp_path / "README.md").write_bytes(b"CCOB is a magic number")
    facts = read_folder(tmp_path, MACHINES)
    assert [file.path for file in facts.device_files] == ["bundle", "kernels.hsaco"]
    assert [(file.path, file.what) for file in facts.unreadable] == [("wrong.co", "this is not an ELF file")]
    assert facts.binaries == ()


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"MZ\x90\0", "but a Windows program or library (PE)"),
        (b"\xcf\xfa\xed\xfe", "but a program or library for macOS (Mach-O)"),
        (b"\xca\xfe\xba\xbe", "but a program or library for macOS with several architectures (Mach-O)"),
        (b"!<arch>\n", "but an archive of object files (.a)"),
        (b"BC\xc0\xde", "but LLVM bitcode"),
        (b"PK\x03\x04", "but a ZIP archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "but a pointer that Git LFS left for the file"),
        (b"#!/bin/sh\n", ""),
        (bytes(100), ""),
    ],
)
def test_foreign_formats_are_called_by_their_names(tmp_path: Path, start: bytes, what: str) -> None:
    assert why(tmp_path, start.ljust(200, b"\0")) == f"this is not an ELF file {what}".rstrip()


def test_gpu_code_with_a_damaged_header_is_said(tmp_path: Path) -> None:
    assert "its header is damaged" in why(tmp_path, b"CCOB\x02\0\x09\0" + bytes(90))
    assert why(tmp_path, b"") == "the file is empty"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(path: str) -> None:
    (found,) = read_file(Path(path), MACHINES).unreadable
    assert found.what == "this is not a regular file"


def test_a_file_beyond_any_size_is_not_looked_through(tmp_path: Path) -> None:
    with (tmp_path / "x.so").open("wb") as stream:
        stream.write(b"\x7fELF")
        os.truncate(stream.fileno(), binary_file.MAX_FILE + 1)  # a hole: it takes no space
    assert "more than the 8589934592 that are read" in read_file(tmp_path / "x.so", MACHINES).unreadable[0].what
    facts = read_folder(tmp_path, MACHINES)
    assert [file.path for file in facts.unreadable] == ["x.so"]
    assert facts.files == ()
    assert [finding.rule for finding in audit_path(tmp_path / "x.so").findings] == ["readable"]


# -- machine code ----------------------------------------------------------------------------------------------------


def gfx942(tmp_path: Path, data: bytes | None = None) -> CodeObject:
    (found,) = device(tmp_path, content("gfx942.co") if data is None else data).code_objects
    return found


def test_the_code_of_gfx942_is_counted_and_its_loop_found(tmp_path: Path) -> None:
    scale, nothing = gfx942(tmp_path).kernels
    assert scale.unread is None
    assert scale.instructions is not None
    assert (scale.instructions.lds, scale.instructions.barriers, scale.instructions.vmem) == (2, 1, 2)
    assert scale.hot_loop is not None
    assert (scale.hot_loop.address, scale.hot_loop.end, scale.hot_loop.instructions) == (0x1834, 0x1874, 12)
    assert nothing.hot_loop is None
    assert nothing.unread is None


def test_for_other_gpus_it_is_said_that_there_is_no_decoder(tmp_path: Path) -> None:
    (bundle,) = device(tmp_path, content("plain")).bundles
    unread = {code.arch: code.kernels[0].unread for code in bundle.code_objects}
    assert unread["gfx942"] is None
    assert unread["gfx90a"] == "its machine code was not read: there is a decoder for gfx942 only"


def test_without_the_decoders_package_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_objects, "find_spec", lambda _: None)
    kernel = gfx942(tmp_path).kernels[0]
    assert "there is no decoder (pip install 'rocmatrix[emulator]')" in (kernel.unread or "")
    assert kernel.instructions is None
    assert kernel.occupancy is not None


def test_no_more_code_is_decoded_than_an_audit_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_objects, "MAX_INSTRUCTIONS", 10)
    assert "no more than 10 are decoded" in (gfx942(tmp_path).kernels[0].unread or "")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b"\0scale.kd\0", b"\0scale.xx\0", "there is no symbol scale.kd"),
        (b"\0scale\0", b"\0scalx\0", "no symbol says how long the code at 0x1800 is"),
        (bytes.fromhex("800006c008000000"), b"\xff" * 8, "it decodes to nothing"),
    ],
)
def test_code_that_is_not_found_or_is_none(tmp_path: Path, old: bytes, new: bytes, what: str) -> None:
    data = content("gfx942.co")
    assert data.count(old) == 1
    assert what in (gfx942(tmp_path, data.replace(old, new)).kernels[0].unread or "")


def test_equal_code_is_decoded_once(tmp_path: Path) -> None:
    code_objects._counted.cache_clear()
    first = gfx942(tmp_path)
    assert gfx942(tmp_path) == first
    assert (code_objects._counted.cache_info().misses, code_objects._counted.cache_info().hits) == (2, 2)
