"""The metadata note: what a damaged one says is refused before memory is asked for."""

from __future__ import annotations

import msgspec
import pytest

from rocmatrix.emulator.hidden_arguments import Geometry, fill_hidden
from rocmatrix.emulator.metadata import read_metadata
from rocmatrix.errors import InputError

Fields = dict[str, object]


def _note(kernel: Fields | None = None, argument: Fields | None = None) -> bytes:
    """Return a note of one kernel with a hidden argument, some fields of either changed."""
    hidden = {".offset": 8, ".size": 2, ".value_kind": "hidden_group_size_x"} | (argument or {})
    fields = {
        ".name": "k", ".symbol": "k.kd", ".kernarg_segment_size": 16, ".kernarg_segment_align": 8,
        ".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0, ".wavefront_size": 64, ".args": [hidden],
    }  # fmt: skip
    return msgspec.msgpack.encode({"amdhsa.kernels": [fields | (kernel or {})]})


@pytest.mark.parametrize(
    ("kernel", "argument", "message"),
    [
        ({".kernarg_segment_size": 1 << 31}, {}, "kernarg_segment_size"),
        ({".kernarg_segment_size": 2**64 - 1}, {}, "kernarg_segment_size"),
        ({".kernarg_segment_size": -1}, {}, "kernarg_segment_size"),
        ({}, {".size": -8}, "size"),
        ({}, {".offset": -8}, "offset"),
        ({}, {".offset": 15}, "hidden_group_size_x at byte 15 of k ends behind the 16 bytes"),
        ({".kernarg_segment_size": 64}, {".size": 16}, "hidden_group_size_x at byte 8 of k has 16 bytes"),
    ],
)
def test_sizes_that_cannot_be_are_an_input_error(kernel: Fields, argument: Fields, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_metadata(_note(kernel, argument), "some.co")
    assert "some.co" in str(raised.value)


def test_a_hidden_argument_that_is_too_short_for_its_value_is_named() -> None:
    (metadata,) = read_metadata(_note(argument={".size": 1}), "some.co")
    segment = bytearray(16)
    fill_hidden(segment, metadata, Geometry(grid=(1, 1, 1), block=(255, 1, 1)))
    assert segment[8] == 255
    with pytest.raises(InputError, match="hidden_group_size_x of k is 256, and has 1 bytes"):
        fill_hidden(segment, metadata, Geometry(grid=(1, 1, 1), block=(256, 1, 1)))
