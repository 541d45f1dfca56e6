"""Memory: bounds, gaps, atomics of lanes that share an address, flat addresses, scratch."""

from __future__ import annotations

import numpy as np
import pytest

from rocmatrix.emulator.instruction import OFF, Encoding, MemoryBits
from rocmatrix.emulator.memory import LocalMemory, Memory
from rocmatrix.emulator.registers import PRIVATE_APERTURE, SHARED_APERTURE
from rocmatrix.emulator.reports import AccessError, FaultKind, UnsupportedError
from rocmatrix.emulator.wave import Wave
from tests.unit.emulator.machine import EVERYONE, execute, integer, make, make_wave, s, v


def _address(wave: Wave, register: int, addresses: np.ndarray) -> None:
    wide = np.asarray(addresses, np.uint64)
    wave.vgprs[register], wave.vgprs[register + 1] = wide, wide >> np.uint64(32)


def test_an_access_must_lie_in_one_allocation_and_the_message_says_by_how_much_it_does_not() -> None:
    memory = Memory()
    first, second = memory.allocate(100, "first"), memory.allocate(100, "second")
    assert second.address - first.end > 1 << 20
    with pytest.raises(AccessError, match="reads 8 bytes at byte 96 of first, which has 100") as raised:
        memory.bytes_at(first.address + 96, 8)
    assert raised.value.address == first.address + 96
    with pytest.raises(AccessError, match="where nothing is allocated"):
        memory.bytes_at(0, 4)


def test_the_first_lane_that_is_outside_is_named() -> None:
    memory = Memory()
    allocation = memory.allocate(256, "words")
    addresses = np.uint64(allocation.address) + np.arange(64, dtype=np.uint64) * np.uint64(8)
    with pytest.raises(AccessError) as raised:
        memory.read(addresses, 4, EVERYONE)
    assert raised.value.lane == 32
    assert memory.read(addresses, 4, np.arange(64) < 32).shape == (64, 4)


def test_what_must_not_be_written_is_not() -> None:
    memory = Memory()
    code = memory.allocate(64, "code", writable=False)
    with pytest.raises(AccessError, match="4 bytes of code are written") as raised:
        memory.write(np.full(64, code.address, np.uint64), np.zeros((64, 4), np.uint8), EVERYONE)
    assert raised.value.kind is FaultKind.READ_ONLY


def test_freed_memory_is_gone() -> None:
    memory = Memory()
    gone, kept = memory.allocate(64, "gone"), memory.allocate(64, "kept")
    memory.free(gone)
    assert memory.find(gone.address) is None
    assert memory.find(kept.address) is kept


def test_lanes_of_one_allocation_and_of_several_are_read_alike() -> None:
    memory = Memory()
    parts = [memory.allocate(64, f"part {number}") for number in range(3)]
    for number, part in enumerate(parts):
        part.data[:] = number + 1
    addresses = np.array([parts[lane % 3].address + lane // 3 for lane in range(64)], np.uint64)
    assert memory.read(addresses, 1, EVERYONE)[:, 0].tolist() == [lane % 3 + 1 for lane in range(64)]


def test_atomics_of_lanes_with_one_address_happen_one_after_the_other() -> None:
    memory = Memory()
    words = memory.allocate(16, "words")
    wave = make_wave(memory=memory)
    _address(wave, 0, words.address + 4 * (np.arange(64) % 4))
    wave.vgprs[2] = np.arange(64)
    bits = MemoryBits(sc0=True)
    execute(wave, make("global_atomic_add", Encoding.GLOBAL, [v(3)], [v(0, 2), OFF, v(2)], memory=bits))
    assert words.data.view(np.uint32).tolist() == [sum(range(first, 64, 4)) for first in range(4)]
    assert wave.vgprs[3].tolist() == [sum(range(lane % 4, lane, 4)) for lane in range(64)]


def test_atomics_need_their_natural_alignment() -> None:
    memory = Memory()
    words = memory.allocate(64, "words")
    wave = make_wave(memory=memory)
    _address(wave, 0, np.full(64, words.address + 2))
    with pytest.raises(AccessError, match="multiple of 4") as raised:
        execute(wave, make("global_atomic_add", Encoding.GLOBAL, [], [v(0, 2), OFF, v(2)], memory=MemoryBits()))
    assert raised.value.kind is FaultKind.MISALIGNED


def test_packed_bfloat16_atomics_round_to_nearest_even() -> None:
    memory = Memory()
    words = memory.allocate(4, "words")
    words.data.view(np.uint16)[:] = (0x3F80, 0x4040)  # 1, 3
    wave = make_wave(memory=memory)
    wave.set_exec(np.arange(64) == 0)
    _address(wave, 0, np.full(64, words.address))
    wave.vgprs[2] = 0x3B803B80  # 2**-8 twice: half a unit of 1, a quarter of one of 3
    sources = [v(0, 2), OFF, v(2)]
    execute(wave, make("global_atomic_pk_add_bf16", Encoding.GLOBAL, [], sources, memory=MemoryBits()))
    assert words.data.view(np.uint16).tolist() == [0x3F80, 0x4040]


def test_flat_addresses_reach_lds_scratch_and_memory_by_their_aperture() -> None:
    memory = Memory()
    words = memory.allocate(256, "words")
    words.data[:] = 1
    wave = make_wave(memory=memory)
    wave.lds.data[:] = 2
    wave.scratch.data[:] = np.arange(64)[:, None] + 3
    bases = np.array([words.address, SHARED_APERTURE, PRIVATE_APERTURE], np.uint64)
    _address(wave, 0, bases[np.arange(64) % 3] + np.uint64(8))
    execute(wave, make("flat_load_ubyte", Encoding.FLAT, [v(2)], [v(0, 2), OFF], memory=MemoryBits(offset=4)))
    assert wave.vgprs[2].tolist() == [(1, 2, lane + 3)[lane % 3] for lane in range(64)]


def test_each_lane_has_scratch_of_its_own_and_no_more() -> None:
    wave = make_wave()
    wave.vgprs[0] = np.arange(64)
    wave.sgprs[32] = 16
    store = make("scratch_store_dword", Encoding.SCRATCH, [], [OFF, s(32), v(0)], memory=MemoryBits(offset=4))
    execute(wave, store)
    wave.vgprs[1] = 20
    execute(wave, make("scratch_load_dword", Encoding.SCRATCH, [v(2)], [v(1), OFF], memory=MemoryBits()))
    assert wave.vgprs[2].tolist() == list(range(64))
    wave.vgprs[1] = np.where(np.arange(64) == 9, 254, 0)
    with pytest.raises(AccessError, match="at byte 254 of the lane's scratch, which has 256") as raised:
        execute(wave, make("scratch_load_dword", Encoding.SCRATCH, [v(2)], [v(1), OFF], memory=MemoryBits()))
    assert raised.value.lane == 9


def test_two_address_lds_instructions_count_in_elements_or_in_64_of_them() -> None:
    wave = make_wave(lds=4096)
    wave.lds.data.view(np.uint32)[0] = np.arange(1024)
    wave.vgprs[0] = 8
    bits = MemoryBits(offset=1, offset1=3)
    execute(wave, make("ds_read2_b32", Encoding.DS, [v(2, 2)], [v(0)], memory=bits))
    assert wave.vgprs[2:4, 0].tolist() == [3, 5]
    execute(wave, make("ds_read2st64_b64", Encoding.DS, [v(4, 4)], [v(0)], memory=bits))
    assert wave.vgprs[4:8, 0].tolist() == [130, 131, 386, 387]


def test_lds_compares_with_its_first_data_and_stores_the_second() -> None:
    wave = make_wave()
    wave.set_exec(np.arange(64) < 2)
    wave.lds.data.view(np.uint32)[0, :2] = (10, 20)
    wave.vgprs[0], wave.vgprs[1], wave.vgprs[2] = np.arange(64) * 4, 10, 99
    bits = MemoryBits()
    execute(wave, make("ds_cmpst_rtn_b32", Encoding.DS, [v(3)], [v(0), v(1), v(2)], memory=bits))
    assert wave.lds.data.view(np.uint32)[0, :2].tolist() == [99, 20]
    assert wave.vgprs[3, :2].tolist() == [10, 20]


def test_memory_takes_what_to_store_before_what_to_compare_with() -> None:
    memory = Memory()
    words = memory.allocate(8, "words")
    words.data.view(np.uint32)[:] = (10, 20)
    wave = make_wave(memory=memory)
    wave.set_exec(np.arange(64) < 2)
    _address(wave, 0, words.address + 4 * np.arange(64))
    wave.vgprs[2], wave.vgprs[3] = 99, 10
    bits = MemoryBits(sc0=True)
    execute(wave, make("global_atomic_cmpswap", Encoding.GLOBAL, [v(4)], [v(0, 2), OFF, v(2, 2)], memory=bits))
    assert words.data.view(np.uint32).tolist() == [99, 20]


def _buffer(wave: Wave, address: int, *, stride: int = 0, records: int, flags: int = 0x27000) -> None:
    wave.sgprs[4:8] = (address & 0xFFFFFFFF, address >> 32 | stride << 16, records, flags)


def test_a_buffer_with_a_stride_is_indexed_and_refused_where_documents_disagree() -> None:
    memory = Memory()
    words = memory.allocate(256, "words")
    words.data.view(np.uint32)[:] = np.arange(64)
    wave = make_wave(memory=memory)
    wave.set_exec(np.arange(64) < 4)
    wave.vgprs[0], wave.vgprs[1] = np.arange(64), 8
    load = make(
        "buffer_load_dword",
        Encoding.MUBUF,
        [v(2)],
        [v(0, 2), s(4, 4), integer(0)],
        memory=MemoryBits(offset=4, offen=True, idxen=True),
    )
    _buffer(wave, words.address, stride=16, records=256)
    execute(wave, load)
    assert wave.vgprs[2, :4].tolist() == [3, 7, 11, 15]
    _buffer(wave, words.address, stride=16, records=16)
    with pytest.raises(UnsupportedError, match="range check of buffers with a stride"):
        execute(wave, load)
    _buffer(wave, words.address, records=256, flags=0x27000 | 1 << 23)
    with pytest.raises(UnsupportedError, match="added thread ids"):
        execute(wave, load)


def test_a_buffer_access_that_is_partly_out_of_range_is_refused() -> None:
    memory = Memory()
    wave = make_wave(memory=memory)
    wave.vgprs[0] = 8
    _buffer(wave, memory.allocate(64, "words").address, records=14)
    sources = [v(0), s(4, 4), integer(0)]
    bits = MemoryBits(offen=True)
    with pytest.raises(UnsupportedError, match="partly out of range"):
        execute(wave, make("buffer_load_dwordx2", Encoding.MUBUF, [v(2, 2)], sources, memory=bits))


def test_d16_loads_leave_the_other_half_alone() -> None:
    wave = make_wave()
    wave.lds.data[0, :4] = (0x81, 0x92, 0xA3, 0xB4)
    wave.vgprs[0], wave.vgprs[1] = 0, 0x11112222
    execute(wave, make("ds_read_i8_d16_hi", Encoding.DS, [v(1)], [v(0), v(1)], memory=MemoryBits()))
    assert wave.vgprs[1][0] == 0xFF812222
    execute(wave, make("ds_read_u16_d16", Encoding.DS, [v(1)], [v(0), v(1)], memory=MemoryBits(offset=2)))
    assert wave.vgprs[1][0] == 0xFF81B4A3


def test_lds_ends_where_the_launch_says() -> None:
    lds = LocalMemory(64, "the workgroup's LDS")
    with pytest.raises(AccessError, match="writes 4 bytes at byte 64 of the workgroup's LDS, which has 64"):
        lds.write(np.full(64, 64, np.int64), np.zeros((64, 4), np.uint8), EVERYONE)
