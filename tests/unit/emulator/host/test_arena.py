"""Device memory: real addresses, the same in every run, with bounds."""

import ctypes

import numpy as np
import pytest

from rocmatrix.emulator.host.arena import ALIGNMENT, BASE, GAP, POISON, Arena, Block
from rocmatrix.errors import MissingRequirementError
from tests.unit.emulator.host.conftest import MEMORY


def allocated(arena: Arena, size: int, name: str = "x") -> Block:
    block = arena.allocate(size, name)
    assert block is not None
    return block


def test_addresses_are_real_aligned_and_the_same_in_every_run(arena: Arena) -> None:
    first, second = allocated(arena, 100), allocated(arena, 7)
    assert first.address == BASE
    assert second.address >= first.end + GAP
    assert second.address % ALIGNMENT == 0
    first.data[3] = 200
    assert ctypes.c_uint8.from_address(first.address + 3).value == 200
    ctypes.c_uint8.from_address(second.address).value = 9
    assert second.data[0] == 9


def test_memory_is_poisoned_with_what_is_no_nan_and_not_near_zero(arena: Arena) -> None:
    block = allocated(arena, 64)
    assert set(block.data.tolist()) == {POISON}
    for dtype in (np.float16, np.float32, np.float64):
        assert np.isfinite(block.data.view(dtype)).all()
        assert (np.abs(block.data.view(dtype)) > 1e4).all()


def test_the_bytes_around_an_allocation_belong_to_nobody(arena: Arena) -> None:
    block = allocated(arena, 100, "the argument a")
    assert arena.find(block.address - 1) is None
    assert arena.find(block.end) is None
    assert arena.find(block.end - 1) is block
    assert arena.problem(block.address, 100) is None
    assert arena.problem(block.address + 1, 100) == "100 bytes from byte 1 of the argument a, which has 100"
    assert "nothing is allocated" in str(arena.problem(block.end, 1))
    assert arena.problem(0x1000, 1) is None, "the host's own memory is not the arena's business"


def test_freed_memory_is_gone_and_its_address_is_never_used_again(arena: Arena) -> None:
    first = allocated(arena, 100)
    assert arena.free(first.address)
    assert arena.find(first.address) is None
    assert not arena.free(first.address)
    assert allocated(arena, 100).address != first.address


def test_a_device_has_so_much_memory_and_no_more(arena: Arena) -> None:
    half = allocated(arena, MEMORY // 2)
    assert arena.allocate(MEMORY // 2 + 1, "too much") is None
    arena.free(half.address)
    assert arena.allocate(MEMORY, "all of it") is not None


def test_addresses_that_are_taken_are_said_to_be(arena: Arena) -> None:
    del arena
    with pytest.raises(MissingRequirementError, match="cannot be reserved"):
        Arena(MEMORY)
