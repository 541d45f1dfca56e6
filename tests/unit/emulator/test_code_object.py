"""Code objects that are none, and descriptors that ask for what is not modelled: one clear message each."""

from __future__ import annotations

import struct

import pytest

from rocmatrix.emulator.code_object import read_code_object
from rocmatrix.emulator.descriptor import Denormals, Mode, read_descriptor
from rocmatrix.emulator.hidden_arguments import NOT_EMULATED, Geometry, hidden_value
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import ExitCode, InputError


def _elf(machine: int = 224, flags: int = 0x4C, abi: int = 64, version: int = 3, kind: int = 3) -> bytes:
    ident = b"\x7fELF\x02\x01\x01" + bytes((abi, version)) + bytes(7)
    return ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cannot be read"),
        (b"not an ELF file at all", "cannot be read"),
        (_elf(machine=62), "not GPU code"),
        (_elf(flags=0x3F), "another GPU"),
        (_elf(abi=0), "not a linked code object for the HSA runtime"),
        (_elf(kind=1), "not a linked code object for the HSA runtime"),
        (_elf(version=1), "ABI version is 1"),
        (_elf(), "no dynamic symbols"),
    ],
)
def test_what_is_no_code_object_is_an_input_error(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_code_object(data, "some.co")
    assert raised.value.exit_code is ExitCode.INPUT
    assert "some.co" in str(raised.value)


def _descriptor(**changes: int) -> bytes:
    fields = {"rsrc1": 0x00AF0000, "rsrc2": 0x84, "rsrc3": 3, "properties": 8, "preload": 0} | changes
    head = struct.pack("<IIII", 512, 16, 24, 0) + struct.pack("<q", 4096) + bytes(20)
    tail = struct.pack("<III", fields["rsrc3"], fields["rsrc1"], fields["rsrc2"])
    return head + tail + struct.pack("<HHI", fields["properties"], fields["preload"], 0)


def test_a_descriptor_says_what_a_wave_starts_with() -> None:
    descriptor = read_descriptor(_descriptor(rsrc1=0x04AF0002, preload=3 << 7 | 5), "k")
    assert (descriptor.group_size, descriptor.private_size, descriptor.entry_offset) == (512, 16, 4096)
    assert (descriptor.vector_registers, descriptor.accumulator_offset) == (24, 16)
    assert (descriptor.user_sgprs, descriptor.kernarg_pointer) == (2, True)
    assert descriptor.workgroup_ids == (True, False, False)
    assert (descriptor.preload_length, descriptor.preload_offset) == (5, 3)
    mode = descriptor.mode
    assert (mode.denormals_32, mode.denormals_16_64) == (Denormals.KEEP, Denormals.KEEP)
    assert (mode.dx10_clamp, mode.ieee, mode.fp16_overflow) == (True, True, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"properties": 8 | 1}, "private segment buffer"),
        ({"properties": 8 | 0x400}, "waves of 32 lanes"),
        ({"properties": 8 | 0x80}, "reserved kernel code properties"),
        ({"rsrc1": 0x00BF0000}, "privileged mode"),
        ({"rsrc1": 0x08AF0000}, "compute_pgm_rsrc1"),
        ({"rsrc2": 0x84 | 1 << 24}, "exceptions"),
        ({"rsrc2": 0x84 | 3 << 11}, "work-item layout"),
        ({"rsrc3": 1 << 20}, "compute_pgm_rsrc3"),
    ],
)
def test_bits_whose_meaning_is_not_modelled_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as raised:
        read_descriptor(_descriptor(**change), "some_kernel")
    assert "some_kernel" in str(raised.value)


def test_mode_is_read_and_written_bit_by_bit() -> None:
    for bits in (0, 0x2F0, 0x8003FF, 0x155):
        assert Mode.from_bits(bits).bits == bits
    with pytest.raises(UnsupportedError, match="0x1000"):
        Mode.from_bits(0x1000)


def test_hidden_arguments_are_known_refused_or_point_to_nothing() -> None:
    geometry = Geometry(grid=(2, 3, 4), block=(8, 4, 1), dynamic_lds=100)
    assert [hidden_value(f"hidden_block_count_{axis}", geometry) for axis in "xyz"] == [2, 3, 4]
    assert [hidden_value(f"hidden_group_size_{axis}", geometry) for axis in "xyz"] == [8, 4, 1]
    assert hidden_value("hidden_grid_dims", geometry) == 3
    assert hidden_value("hidden_dynamic_lds_size", geometry) == 100
    assert hidden_value("hidden_hostcall_buffer", geometry) == NOT_EMULATED
    with pytest.raises(UnsupportedError, match="hidden_new_thing"):
        hidden_value("hidden_new_thing", geometry)
