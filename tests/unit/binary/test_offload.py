"""Reading offload bundles: plain ones whole, compressed and damaged ones by name, nothing by chance."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.binary.facts import Bundle, UnreadableError
from rocmatrix.binary.header import Header, Segment
from rocmatrix.binary.offload import read_bundles, unbundle
from tests.unit.binary.samples import GFX942_ANY, MACHINES, bundle_bytes, code_object_bytes

HOST = ("host-x86_64-unknown-linux-gnu-", b"")
GFX942 = ("hipv4-amdgcn-amd-amdhsa--gfx942", code_object_bytes())


def read(data: bytes, *, kind: str = "PT_LOAD") -> tuple[Bundle, ...]:
    """Read bundles from data that is one segment."""
    segment = Segment(type=kind, offset=0, address=0, size=len(data))
    header = Header(machine="EM_X86_64", type="ET_DYN", os_abi=0, abi_version=0, flags=0, segments=(segment,))
    return read_bundles(data, header, MACHINES)


def test_the_gpu_entries_of_a_bundle_are_read_and_the_host_entry_is_none() -> None:
    ((found),) = read(bundle_bytes(HOST, GFX942))
    (code,) = found.code_objects
    assert (code.entry, code.arch, code.features) == ("hipv4-amdgcn-amd-amdhsa--gfx942", "gfx942", ())
    assert (code.elf_arch, code.elf_features, code.version, code.problem) == ("gfx942", (), 6, None)


def test_bundles_of_several_translation_units_are_all_found() -> None:
    data = b"before".ljust(4096, b"\0") + bundle_bytes(HOST, GFX942) + bundle_bytes(GFX942)
    assert [bundle.offset for bundle in read(data)] == [4096, 4096 + len(bundle_bytes(HOST, GFX942))]


def test_a_bundle_inside_a_code_object_is_not_one_more() -> None:
    nested = code_object_bytes() + bundle_bytes(GFX942)
    assert len(read(bundle_bytes((GFX942[0], nested)))) == 1


def test_only_what_the_loader_maps_counts() -> None:
    assert read(bundle_bytes(GFX942), kind="PT_NOTE") == ()


@pytest.mark.parametrize(
    ("entry", "arch", "features"),
    [
        ("hip-amdgcn-amd-amdhsa-gfx906", "gfx906", ()),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a", ("sramecc+", "xnack-")),
        ("hipv4-amdgcn-amd-amdhsa-unknown-gfx1100", "gfx1100", ()),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "gfx9-4-generic", ("xnack+",)),
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", None, ()),
        ("hipv4-amdgcn-amd-amdhsa--gfx942;gfx950", None, ()),
    ],
)
def test_entry_ids_name_arch_and_features(entry: str, arch: str | None, features: tuple[str, ...]) -> None:
    ((bundle),) = read(bundle_bytes((entry, code_object_bytes())))
    assert (bundle.code_objects[0].arch, bundle.code_objects[0].features) == (arch, features)


@pytest.mark.parametrize(
    ("flags", "features"),
    [(0x54C, ()), (0x64C, ("xnack-",)), (0x74C, ("xnack+",)), (0x94C, ("sramecc-",)), (0xF4C, ("sramecc+", "xnack+"))],
)
def test_features_are_read_from_the_code_objects_flags(flags: int, features: tuple[str, ...]) -> None:
    ((bundle),) = read(bundle_bytes((GFX942[0], code_object_bytes(flags))))
    assert bundle.code_objects[0].elf_features == features


def test_the_arch_of_the_flags_is_read_whatever_the_entry_says() -> None:
    ((bundle),) = read(bundle_bytes(("hipv4-amdgcn-amd-amdhsa--gfx950", code_object_bytes(GFX942_ANY))))
    assert (bundle.code_objects[0].arch, bundle.code_objects[0].elf_arch) == ("gfx950", "gfx942")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is empty"),
        (b"BC\xc0\xde" + bytes(100), "this is not an ELF file but LLVM bitcode"),
        (code_object_bytes()[:40], "the ELF header is damaged: it is cut off"),
        (code_object_bytes(machine=62), "it is an ELF file for EM_X86_64, not an AMD GPU code object"),
        (code_object_bytes(os_abi=0), "it is an ELF file for EM_AMDGPU, not an AMD GPU code object"),
        (code_object_bytes()[:16] + b"\x01\x00" + code_object_bytes()[18:], "it is ET_REL, not a linked code object"),
    ],
)
def test_what_is_no_code_object_is_said(content: bytes, problem: str) -> None:
    ((bundle),) = read(bundle_bytes((GFX942[0], content)))
    assert bundle.code_objects[0].problem == problem


@pytest.mark.parametrize("rest", [b"", b"OON", bytes(30), struct.pack("<HHI", 2, 1, 1 << 31), b" is four letters long"])
def test_four_equal_letters_are_no_compressed_bundle(rest: bytes) -> None:
    assert read(b"CCOB" + rest) == ()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (bundle_bytes(GFX942)[:30], "the table of entries is cut off"),
        (bundle_bytes(GFX942)[:60], "the id of an entry is damaged"),
        (bundle_bytes(GFX942)[:4096], "reaches beyond the end"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60), "claims 1152921504606846976 entries"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<4Q", 1, 0, 0, 1 << 60), "the id of an entry is damaged"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<4Q", 1, 1 << 63, 1 << 63, 1) + b"x", "reaches beyond the end"),
    ],
)
def test_a_damaged_bundle_is_reported_with_what_is_wrong(data: bytes, what: str) -> None:
    ((bundle),) = read(data)
    assert what in (bundle.problem or "")
    assert bundle.certain


def test_a_program_that_only_knows_the_magic_is_told_apart_by_alignment() -> None:
    ((bundle),) = read(b"a parser's string: __CLANG_OFFLOAD_BUNDLE__\0other strings and more of them")
    assert bundle.problem
    assert not bundle.certain


GOOD = bundle_bytes(HOST, GFX942, ("hipv4-amdgcn-amd-amdhsa--gfx950", code_object_bytes(0x54F)))


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_never_raise(changes: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, value in changes:
        data[place % 300 if place % 2 else place] = value
    read(bytes(data))


@given(st.integers(0, len(GOOD)))
def test_no_truncation_raises(length: int) -> None:
    read(GOOD[:length])


def test_code_objects_are_taken_out_of_a_bundle_in_memory() -> None:
    featured = ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", code_object_bytes())
    found = unbundle(bundle_bytes(HOST, GFX942, featured) + b"whatever follows")
    assert [(entry.target, entry.data) for entry in found] == [
        (("gfx942", ()), GFX942[1]),
        (("gfx942", ("sramecc+", "xnack-")), featured[1]),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"CCOB" + bytes(60), "compressed"),
        (b"\x7fELF" + bytes(60), "not an offload bundle"),
        (bundle_bytes(GFX942)[:40], "damaged|cut off"),
        (bundle_bytes(GFX942)[:4100], "beyond the end"),
    ],
)
def test_what_is_no_plain_whole_bundle_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        unbundle(data)
