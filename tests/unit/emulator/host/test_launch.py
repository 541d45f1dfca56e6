"""Which code object a launch means, and how its arguments are laid out."""

import ctypes

import pytest

from rocmatrix.emulator.host import launch
from rocmatrix.emulator.host.launch import Images, lay_out, mapped_bytes, own_size
from rocmatrix.emulator.metadata import Argument, KernelMetadata
from rocmatrix.errors import InputError
from tests.unit.binary.samples import bundle_bytes, code_object_bytes

PLAIN, FEATURED = code_object_bytes(), code_object_bytes(version=5)
PREFIX = "hipv4-amdgcn-amd-amdhsa--"


def chosen(*entries: tuple[str, bytes]) -> bytes:
    return launch._code_object(bundle_bytes(*((PREFIX + target, data) for target, data in entries)))


def test_the_most_precise_code_object_that_fits_the_device_is_taken() -> None:
    assert chosen(("gfx90a", FEATURED), ("gfx942", PLAIN)) == PLAIN
    assert chosen(("gfx942", PLAIN), ("gfx942:sramecc+:xnack-", FEATURED)) == FEATURED
    assert chosen(("gfx942:xnack+", FEATURED), ("gfx942", PLAIN)) == PLAIN


def test_without_one_the_message_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="no code object for gfx942") as caught:
        chosen(("gfx90a", PLAIN), ("gfx942:xnack+", FEATURED))
    assert "gfx942:xnack+" in str(caught.value)


def test_an_image_may_be_a_bare_code_object() -> None:
    assert launch._code_object(PLAIN) == PLAIN


def test_memory_that_is_mapped_is_read_to_its_end() -> None:
    text = ctypes.create_string_buffer(b"here it is" + bytes(100))
    assert mapped_bytes(ctypes.addressof(text)).startswith(b"here it is")
    with pytest.raises(InputError, match="where nothing is"):
        Images().code(0x10)


def argument(offset: int, size: int, kind: str) -> Argument:
    return Argument(offset=offset, size=size, value_kind=kind)


METADATA = KernelMetadata(
    name="k",
    symbol="k.kd",
    kernarg_segment_size=32,
    kernarg_segment_align=8,
    group_segment_fixed_size=0,
    private_segment_fixed_size=0,
    wavefront_size=64,
    args=(
        argument(0, 8, "global_buffer"),
        argument(8, 1, "by_value"),
        argument(12, 4, "by_value"),
        argument(16, 4, "hidden_block_count_x"),
    ),
)


def test_arguments_lie_where_the_metadata_says_and_hidden_ones_are_nobodys() -> None:
    values = [ctypes.c_uint64(0x1122334455667788), ctypes.c_uint8(7), ctypes.c_int32(-2)]
    laid = lay_out(METADATA, [ctypes.addressof(value) for value in values])
    assert laid == bytes.fromhex("8877665544332211 07000000 feffffff".replace(" ", ""))
    assert own_size(METADATA) == 16
