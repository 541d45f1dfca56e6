"""The metadata note: what it must have, what it may lack, and what a hostile one cannot do."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.binary import reading
from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.metadata import CodeMetadata, read_metadata
from rocmatrix.binary.reading import Reading

KERNEL: dict[str, object] = {
    ".name": "k",
    ".symbol": "k.kd",
    ".vgpr_count": 128,
    ".sgpr_count": 32,
    ".group_segment_fixed_size": 65536,
    ".private_segment_fixed_size": 16,
    ".kernarg_segment_size": 8,
    ".kernarg_segment_align": 8,
    ".wavefront_size": 64,
    ".max_flat_workgroup_size": 256,
}
FULL: dict[str, object] = {
    **KERNEL,
    ".agpr_count": 64,
    ".vgpr_spill_count": 3,
    ".sgpr_spill_count": 2,
    ".uses_dynamic_stack": True,
    ".reqd_workgroup_size": [256, 1, 1],
    ".args": [{".offset": 0, ".size": 8, ".value_kind": "global_buffer", ".name": "x", ".address_space": "global"}],
}


def note(*kernels: dict[str, object], target: str = "amdgcn-amd-amdhsa--gfx942") -> bytes:
    said = {"amdhsa.version": [1, 2], "amdhsa.target": target, "amdhsa.kernels": list(kernels), "unknown": {"a": 1}}
    return msgspec.msgpack.encode(said)


def read(data: bytes) -> CodeMetadata:
    return read_metadata(data, "gfx942", Reading(machines={}))


def test_everything_that_a_kernel_may_say_is_read() -> None:
    found = read(note(FULL))
    (kernel,) = found.kernels
    assert found.target == "amdgcn-amd-amdhsa--gfx942"
    assert (kernel.vgprs, kernel.agprs, kernel.sgprs) == (128, 64, 32)
    assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.dynamic_stack) == (3, 2, True)
    assert (kernel.lds, kernel.scratch, kernel.required_workgroup) == (65536, 16, (256, 1, 1))
    assert [(argument.name, argument.address_space) for argument in kernel.arguments] == [("x", "global")]
    assert kernel.occupancy is not None


def test_what_it_does_not_say_is_not_known() -> None:
    (kernel,) = read(note(KERNEL)).kernels
    assert (kernel.agprs, kernel.vgpr_spills, kernel.sgpr_spills, kernel.dynamic_stack) == (None, None, None, None)
    assert (kernel.required_workgroup, kernel.arguments) == (None, ())
    assert kernel.unread == "its machine code was not looked at"


@pytest.mark.parametrize("key", KERNEL)
def test_a_kernel_without_a_required_key_is_damaged(key: str) -> None:
    lacking = {name: value for name, value in KERNEL.items() if name != key}
    with pytest.raises(UnreadableError, match=key):
        read(note(lacking))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"---\namdhsa.kernels:\n",
        note({**KERNEL, ".vgpr_count": "many"}),
        note({**KERNEL, ".args": [{".size": 8}]}),
        note({**KERNEL, ".args": 3}),
        note({**KERNEL, ".reqd_workgroup_size": [1, 1]}),
        b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff",
        b"\x81\xa1x" + b"\x91" * 100_000,
        b"\x81\xa1x\xdf\xff\xff\xff\xff",
        b"\x81\xadamdhsa.target\xa1\xff",
    ],
)
def test_what_is_no_metadata_is_refused_in_little_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError, match="damaged"):
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("limit", "what"), [("MAX_KERNELS", "no more than 2 kernels"), ("MAX_LAYOUTS", "the arguments take")]
)
def test_kernels_and_layouts_are_counted_for_the_file(limit: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, limit, 2)
    with pytest.raises(UnreadableError, match=what):
        read(note(KERNEL, FULL, KERNEL))


def test_equal_names_and_layouts_are_kept_once_for_a_file() -> None:
    shared = Reading(machines={})
    first, second = (read_metadata(note(FULL), arch, shared).kernels[0] for arch in ("gfx942", "gfx90a"))
    assert first.name is second.name
    assert first.arguments is second.arguments


@settings(max_examples=100)
@given(st.binary(max_size=64), st.integers(0, 600))
def test_changed_notes_are_read_or_refused(change: bytes, place: int) -> None:
    data = bytearray(note(FULL))
    data[place : place + len(change)] = change
    try:
        read(bytes(data))
    except UnreadableError:
        return
