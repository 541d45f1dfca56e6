"""The offload bundle: what the HIP runtime finds in it, and what is refused."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.binary.offload import unbundle
from rocmatrix.toolchain import bundle
from rocmatrix.toolchain.bundle import ALIGNMENT, HOST_ID, write_bundle

CODE_OBJECTS = st.dictionaries(st.from_regex(r"gfx[0-9a-f]{3,4}(:xnack[+-])?", fullmatch=True), st.binary(), min_size=1)


@given(CODE_OBJECTS)
def test_what_is_written_is_read_back(code_objects: dict[str, bytes]) -> None:
    assert {entry.entry: entry.data for entry in unbundle(write_bundle(code_objects.items()))} == {
        f"hipv4-amdgcn-amd-amdhsa--{arch}": data for arch, data in code_objects.items()
    }


@given(CODE_OBJECTS)
def test_payloads_lie_at_multiples_of_a_page(code_objects: dict[str, bytes]) -> None:
    data = write_bundle(code_objects.items())
    (count,) = struct.unpack_from("<Q", data, 24)
    at = 32
    for _ in range(count):
        offset, _, length = struct.unpack_from("<QQQ", data, at)
        assert offset % ALIGNMENT == 0
        at += 24 + length


def test_the_layout_is_clangs() -> None:
    data = write_bundle([("gfx942", b"code")])
    name = b"hipv4-amdgcn-amd-amdhsa--gfx942"
    table = struct.pack("<QQQQ", 2, 4096, 0, len(HOST_ID)) + HOST_ID.encode() + struct.pack("<QQQ", 4096, 4, len(name))
    assert data == (b"__CLANG_OFFLOAD_BUNDLE__" + table + name).ljust(4096, b"\0") + b"code"


def test_an_arch_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        write_bundle([("gfx942", b"1"), ("gfx942", b"2")])


def test_a_bundle_without_code_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a code object"):
        write_bundle([])


def test_the_program_writes_the_same_bundle(tmp_path: Path) -> None:
    (tmp_path / "a.co").write_bytes(b"one")
    (tmp_path / "b.co").write_bytes(b"two")
    output = tmp_path / "k.hipfb"
    assert bundle.main([str(output), f"gfx90a={tmp_path}/a.co", f"gfx942={tmp_path}/b.co"]) == 0
    assert output.read_bytes() == write_bundle([("gfx90a", b"one"), ("gfx942", b"two")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.co", "b.co", "k.hipfb"]
