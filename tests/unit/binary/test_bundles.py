"""Bundles, packages and code objects as LLVM's tools write them: every form of the same code objects tells the same."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.binary import compressed, reading, streamed
from rocmatrix.binary.facts import BundleKind, CodeObject, UnreadableError
from rocmatrix.binary.header import Span
from rocmatrix.binary.offload import unbundle
from tests.unit.binary.corpus import COMPRESSED, PACKAGES, code_objects, content, read, read_one
from tests.unit.binary.samples import bundle_bytes, code_object_bytes

PLAIN = content("plain")
TARGETS = {
    "gfx942": ("gfx942", ()),
    "gfx90a:sramecc+:xnack+": ("gfx90a", ("sramecc+", "xnack+")),
    "gfx90a:xnack-": ("gfx90a", ("xnack-",)),
    "gfx1100": ("gfx1100", ()),
    "gfx803": ("gfx803", ()),
}


def by_bundler() -> list[CodeObject]:
    return list(read_one(PLAIN).code_objects)


def test_a_bundle_of_clangs_is_read_with_every_target_and_its_kernels() -> None:
    found = by_bundler()
    assert [code.entry for code in found] == [f"hipv4-amdgcn-amd-amdhsa--{target}" for target in TARGETS]
    assert [(code.arch, code.features) for code in found] == list(TARGETS.values())
    assert [(code.elf_arch, code.elf_features) for code in found] == list(TARGETS.values())
    assert [code.target for code in found] == [f"amdgcn-amd-amdhsa--{target}" for target in TARGETS]
    assert {(code.problem, code.metadata_problem, code.version) for code in found} == {(None, None, 5)}
    assert {tuple(kernel.name for kernel in code.kernels) for code in found} == {("scale", "nothing")}


def test_the_metadata_of_a_kernel_is_what_the_compiler_was_told() -> None:
    scale, nothing = by_bundler()[0].kernels
    assert (scale.symbol, scale.lds, scale.scratch, scale.wavefront) == ("scale.kd", 1024, 0, 64)
    assert (scale.max_workgroup, scale.required_workgroup) == (128, (64, 2, 1))
    layout = [(argument.offset, argument.size, argument.kind, argument.address_space) for argument in scale.arguments]
    assert layout == [(0, 8, "global_buffer", "global"), (8, 4, "by_value", None), (12, 4, "by_value", None)]
    assert (nothing.arguments, nothing.required_workgroup, nothing.lds) == ((), None, 0)
    wave32 = by_bundler()[3].kernels[0]
    assert wave32.wavefront == 32
    assert wave32.agprs is None  # the metadata of a GPU without accumulation registers does not speak of them


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_compressed_bundle_holds_what_the_plain_one_does(name: str) -> None:
    bundle = read_one(content(name))
    method, version = name.split("-")
    assert bundle.problem is None  # its MD5 was compared with the one that the tool wrote
    assert bundle.kind is BundleKind.COMPRESSED
    assert bundle.compression is not None
    assert (bundle.compression.method, bundle.compression.version) == (method, int(version))
    assert (bundle.compression.size, bundle.compression.uncompressed) == (len(content(name)), len(PLAIN))
    assert list(bundle.code_objects) == by_bundler()


@pytest.mark.parametrize("name", COMPRESSED)
def test_the_emulator_gets_the_same_bytes_out_of_a_compressed_bundle(name: str) -> None:
    assert unbundle(content(name)) == unbundle(PLAIN)
    assert unbundle(PLAIN)[0].data == content("gfx942.co")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_holds_the_same_code_objects(name: str) -> None:
    code = read(content(name))
    assert {bundle.kind for bundle in code.bundles} == {BundleKind.PACKAGE}
    assert [found.entry for found in code_objects(code)] == [f"hip-amdgcn-amd-amdhsa--{t}" for t in list(TARGETS)[:3]]
    expected = [replace(found, entry="", offset=None) for found in by_bundler()[:3]]
    assert [replace(found, entry="", offset=None) for found in code_objects(code)] == expected
    for found in code_objects(code):
        assert content(name)[found.offset or 0 :].startswith(b"\x7fELF")


def test_a_code_object_by_itself_in_data_is_found_with_its_size() -> None:
    alone = content("gfx942.co")
    data = b"text before it".ljust(100, b"\0") + alone + b"text behind it" + PLAIN
    code = read(data)
    (found,) = code.code_objects
    assert (found.offset, found.size, found.entry) == (100, len(alone), "")
    assert (found.arch, found.features) == ("gfx942", ())
    assert found.kernels == by_bundler()[0].kernels
    assert len(code.bundles) == 1


def test_bundles_of_all_kinds_one_after_the_other_are_all_found() -> None:
    names = ("plain", *COMPRESSED, *PACKAGES, "plain")
    data = b"".join(content(name).ljust(65536, b"\0") for name in names)
    code = read(data)
    assert [bundle.problem for bundle in code.bundles] == [None] * (1 + len(COMPRESSED) + 3 * len(PACKAGES) + 1)
    assert [bundle.offset for bundle in code.bundles if bundle.kind is BundleKind.COMPRESSED] == [
        65536 * names.index(name) for name in COMPRESSED
    ]
    assert code.code_objects == ()


def test_what_holds_no_gpu_code_is_told_apart() -> None:
    data = b"before".ljust(4096, b"\0") + PLAIN + b"between" + content("zstd-2") + b"behind"
    rest = b"|".join(data[span.start : span.end] for span in read(data).rest)
    assert rest == b"before".ljust(4096, b"\0") + b"|between|behind"


@pytest.mark.parametrize("name", ["plain", "zstd-2", "package-19", "gfx942.co"])
def test_gpu_code_is_found_wherever_it_begins_in_what_is_looked_through(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocmatrix.binary.offload._PIECE", 64)
    for offset in range(140):
        code = read(b"-" * offset + content(name))
        found = [bundle.offset for bundle in code.bundles] + [alone.offset for alone in code.code_objects]
        assert found[0] == offset
        assert code.rest == (() if offset == 0 else (Span(start=0, end=offset, address=0),))


# -- what is wrong -------------------------------------------------------------------------------------------------


def packed(plain: bytes, *, said: int | None = None, digest: bytes | None = None, level: int = 3) -> bytes:
    """Return a compressed bundle of version 2, with claims of its own."""
    body = zstandard.ZstdCompressor(level=level).compress(plain)
    size = len(plain) if said is None else said
    half = (digest or hashlib.md5(plain, usedforsecurity=False).digest())[:8]
    return b"CCOB" + struct.pack("<HHII", 2, 1, 24 + len(body), size) + half + body


def test_content_that_was_changed_after_compressing_is_told_by_its_md5() -> None:
    bundle = read_one(packed(PLAIN, digest=b"somethingelse"))
    assert "does not have the MD5" in (bundle.problem or "")
    assert list(bundle.code_objects) == by_bundler()  # what was read is told all the same


@pytest.mark.parametrize(
    ("said", "what"),
    [(len(PLAIN) - 1, "holds more than the 36127 bytes"), (len(PLAIN) + 1, "holds 36128 bytes, and its header says")],
)
def test_content_of_another_size_than_the_header_says(said: int, what: str) -> None:
    assert what in (read_one(packed(PLAIN, said=said)).problem or "")


def test_a_bomb_is_refused_by_what_it_claims() -> None:
    bundle = read_one(packed(b"", said=(1 << 32) - 1))
    assert "as no code does" in (bundle.problem or "")


@pytest.mark.parametrize("method", ["zstd", "zlib"])
def test_a_bomb_that_claims_little_is_stopped_at_its_claim(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = bytes(1 << 26)
    data = packed(zeros, said=1 << 20)
    if method == "zlib":
        body = zlib.compress(zeros)
        data = b"CCOB" + struct.pack("<HHIIQ", 2, 0, 24 + len(body), 1 << 20, 0) + body
    made: list[int] = []
    piece = compressed.Content._piece

    def counted(self: compressed.Content, size: int) -> bytes:
        found = piece(self, size)
        made.append(len(found))
        return found

    monkeypatch.setattr(compressed.Content, "_piece", counted)
    assert "not an offload bundle" in (read_one(data).problem or "")
    assert sum(made) < 1 << 20


def test_all_bundles_of_a_file_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CONTENT", len(PLAIN) + 1)
    first, second = read(content("zstd-3").ljust(4096, b"\0") + content("zstd-2")).bundles
    assert first.problem is None
    assert "no more than" in (second.problem or "")


def test_metadata_beyond_the_budget_is_not_read_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_METADATA", 1000)
    first, *rest = by_bundler()
    assert first.metadata_problem is None
    assert all("its metadata was not read" in (code.metadata_problem or "") for code in rest)
    assert all(code.problem is None and code.elf_arch is not None for code in rest)


def test_a_code_object_that_is_too_large_to_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "MAX_CODE_OBJECT", 4000)
    bundle = read_one(content("zstd-3"))
    assert [code.problem is None for code in bundle.code_objects] == [False, False, False, True, True]


def entries_at(*places: tuple[int, int]) -> bytes:
    """Return a bundle whose entries claim these places."""
    table = struct.pack("<Q", len(places))
    for number, (offset, size) in enumerate(places):
        entry = b"hipv4-amdgcn-amd-amdhsa--gfx942" + b":xnack+" * (number % 2)
        table += struct.pack("<QQQ", offset, size, len(entry)) + entry
    return (b"__CLANG_OFFLOAD_BUNDLE__" + table).ljust(4096, b"\0") + code_object_bytes().ljust(8192, b"\0")


@pytest.mark.parametrize("form", [bytes, packed])
@pytest.mark.parametrize(
    ("places", "shared"),
    [
        (((4096, 64), (4160, 64)), (False, False)),
        (((4096, 64), (4096, 64)), (False, False)),
        (((4096, 64), (4128, 64)), (True, True)),
        (((4096, 64), (4096, 65)), (True, True)),
        (((0, 64), (4096, 64)), (True, False)),
        (((4096, 4096), (4200, 10)), (True, True)),
    ],
)
def test_entries_that_share_bytes_are_said(
    form: type[bytes], places: tuple[tuple[int, int], ...], shared: tuple[bool, ...]
) -> None:
    found = read_one(form(entries_at(*places))).code_objects
    assert tuple("belong to another entry" in (code.problem or "") for code in found) == shared


def test_an_entry_beyond_the_end_of_a_compressed_bundle() -> None:
    assert "reaches beyond the end" in (read_one(packed(entries_at((4096, 1 << 20)))).problem or "")


@pytest.mark.parametrize("form", [bytes, packed])
def test_one_large_note_under_many_ids_counts_for_each(form: type[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    code = content("gfx942.co")
    data = bytearray(bundle_bytes(*((f"hipv4-amdgcn-amd-amdhsa--gfx942{':xnack+' * n}", code) for n in range(3))))
    place = 32
    for _ in range(3):  # all three point at the first
        struct.pack_into("<QQ", data, place, 4096, len(code))
        place += 24 + struct.unpack_from("<Q", data, place + 16)[0]
    monkeypatch.setattr(reading, "MAX_KERNELS", 4)
    found = read_one(form(bytes(data))).code_objects
    assert [len(entry.kernels) for entry in found] == [2, 2, 0]
    assert [entry.metadata_problem is None for entry in found] == [True, True, False]


def test_what_only_looks_like_gpu_code_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocmatrix.binary.offload.MAX_HITS", 100)
    with pytest.raises(UnreadableError, match="more than 100 places"):
        read(b"\x7fELF" * 200)


def test_a_damaged_package_is_said() -> None:
    data = bytearray(content("package-19"))
    struct.pack_into("<Q", data, 32 + 16, 1 << 20)
    first = read(bytes(data)).bundles[0]
    assert first.problem == "an entry of the package claims 1048576 strings"


def versioned(version: int) -> bytes:
    """Return a package of a later version with two images, as LLVM's header describes it."""
    code, strings = content("gfx942.co"), b"triple\0amdgcn-amd-amdhsa\0arch\0gfx942\0"
    start = 32 + 2 * 40 + 4 * 24
    places = [(start + strings.index(key), start + strings.index(value), len(value)) for key, value in _PAIRS]
    image = -(-(start + len(strings)) // 8) * 8
    table = b"".join(struct.pack("<QQQ", *place) for place in places)
    entry = struct.pack("<HHIQQQQ", 1, 4, 0, 32 + 80, 2, image, len(code))
    body = (entry * 2 + table * 2 + strings).ljust(image - 32, b"\0") + code
    return struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", version, 32 + len(body), 32, 2) + body


_PAIRS = ((b"triple", b"amdgcn-amd-amdhsa"), (b"arch", b"gfx942"))


def test_a_package_with_several_entries_is_read() -> None:
    bundle = read_one(versioned(2))
    assert [(code.arch, code.problem, len(code.kernels)) for code in bundle.code_objects] == [("gfx942", None, 2)] * 2
    assert "version 3, which is not read" in (read_one(versioned(3)).problem or "")


def damaged(data: st.DataObject, name: str) -> Iterator[bytes]:
    changed = bytearray(content(name))
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    yield bytes(changed)
    yield bytes(changed[: data.draw(st.integers(0, len(changed)))])


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["plain", "gfx942.co", *COMPRESSED, *PACKAGES]))
def test_nothing_that_is_damaged_raises(data: st.DataObject, name: str) -> None:
    for changed in damaged(data, name):
        read(changed)
