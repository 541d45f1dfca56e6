"""The stand-in for the HIP runtime, called as launchers call it."""

import ctypes
from pathlib import Path

import pytest

from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.hip_library import HipLibrary
from rocmatrix.emulator.host.launch import Launch
from rocmatrix.emulator.host.profiles import profile, profiles
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import InputError

pytestmark = pytest.mark.needs_llvm

COMPUTE_UNITS, WARP_SIZE, UNKNOWN_ATTRIBUTE = 63, 87, 9999


def never(launch: Launch, _code: CodeObject) -> None:
    raise AssertionError(f"{launch.kernel} was launched")


class Hip:
    """The connected runtime and its C functions."""

    def __init__(self, path: Path, arena: Arena, device: str = "mi300x") -> None:
        self.library = HipLibrary(path, arena, profile(device), never)
        self.c = ctypes.CDLL(str(path))

    def allocate(self, size: int) -> int:
        memory = ctypes.c_void_p()
        assert self.c.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
        assert memory.value
        return memory.value


@pytest.fixture
def hip(hip_stand_in: Path, arena: Arena) -> Hip:
    made = Hip(hip_stand_in, arena)
    made.c.hipGetLastError()
    return made


@pytest.mark.parametrize(
    ("key", "units", "gigabytes"),
    [("mi300x", 304, 192), ("mi300a", 228, 128), ("mi308x", 80, 192), ("mi300x-cpx", 38, 24)],
)
def test_each_profile_is_what_the_runtime_says(
    hip_stand_in: Path, arena: Arena, key: str, units: int, gigabytes: int
) -> None:
    hip = Hip(hip_stand_in, arena, key)
    properties = ctypes.create_string_buffer(1472)
    assert hip.c.hipGetDevicePropertiesR0600(properties, 0) == 0
    assert properties.raw[:256].split(b"\0")[0].decode() == profile(key).name
    assert properties.raw[1160:].split(b"\0")[0] == b"gfx942:sramecc+:xnack-"
    assert int.from_bytes(properties.raw[388:392], "little") == units
    assert int.from_bytes(properties.raw[288:296], "little") == gigabytes << 30
    value = ctypes.c_int()
    assert hip.c.hipDeviceGetAttribute(ctypes.byref(value), COMPUTE_UNITS, 0) == 0
    assert value.value == units
    assert hip.c.hipDeviceGetAttribute(ctypes.byref(value), WARP_SIZE, 0) == 0
    assert value.value == 64


def test_every_profile_has_its_source() -> None:
    assert all(known.source and known.date for known in profiles().values())
    with pytest.raises(InputError, match="no emulated device 'mi250'"):
        profile("mi250")


def test_an_attribute_that_is_not_known_is_refused_not_zero(hip: Hip) -> None:
    assert hip.c.hipDeviceGetAttribute(ctypes.byref(ctypes.c_int()), UNKNOWN_ATTRIBUTE, 0) == 801
    with pytest.raises(UnsupportedError, match="hipDeviceGetAttribute"):
        hip.library.check()


def test_memory_is_allocated_copied_set_and_freed(hip: Hip, arena: Arena) -> None:
    memory = hip.allocate(16)
    source = ctypes.create_string_buffer(b"0123456789abcdef", 16)
    assert hip.c.hipMemcpy(ctypes.c_void_p(memory), source, ctypes.c_size_t(16), 1) == 0
    assert hip.c.hipMemsetD16(ctypes.c_void_p(memory + 4), 0x4142, ctypes.c_size_t(2)) == 0
    back = ctypes.create_string_buffer(16)
    assert hip.c.hipMemcpyDtoH(back, ctypes.c_void_p(memory), ctypes.c_size_t(16)) == 0
    assert back.raw == b"0123BABA89abcdef"
    assert hip.c.hipFree(ctypes.c_void_p(memory)) == 0
    assert not arena.blocks


def test_copies_beyond_an_allocation_are_errors_and_touch_nothing(hip: Hip) -> None:
    memory = hip.allocate(16)
    assert hip.c.hipMemset(ctypes.c_void_p(memory), 1, ctypes.c_size_t(17)) == 1
    assert hip.c.hipGetLastError() == 1
    assert hip.c.hipGetLastError() == 0
    assert hip.library.remarks == ["hipMemset touches 17 bytes from byte 0 of memory from hipMalloc, which has 16"]
    assert hip.c.hipFree(ctypes.c_void_p(memory + 8)) == 1
    host = ctypes.create_string_buffer(32)
    assert hip.c.hipMemcpy(ctypes.c_void_p(memory + 8), host, ctypes.c_size_t(9), 1) == 1
    assert hip.c.hipMemcpy(host, ctypes.c_void_p(memory + 8), ctypes.c_size_t(9), 2) == 1
    assert hip.c.hipMemcpy(host, ctypes.c_void_p(memory + 8), ctypes.c_size_t(8), 2) == 0


def test_a_null_pointer_and_a_foreign_device_are_errors(hip: Hip) -> None:
    assert hip.c.hipMemset(None, 0, ctypes.c_size_t(4)) == 1
    assert hip.c.hipSetDevice(1) == 101
    hip.c.hipGetErrorString.restype = ctypes.c_char_p
    assert hip.c.hipGetErrorString(101) == b"invalid device ordinal"


class Extent(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))


def test_a_function_that_nobody_registered_is_not_launched(hip: Hip) -> None:
    one = Extent(1, 1, 1)
    assert hip.c.hipLaunchKernel(ctypes.c_void_p(1), one, one, None, ctypes.c_size_t(0), None) == 98
    assert hip.c.hipPeekAtLastError() == 98


def test_a_launch_takes_no_time_that_could_be_measured(hip: Hip) -> None:
    assert hip.c.hipStreamSynchronize(None) == 0
    assert hip.c.hipEventElapsedTime(None, None, None) == 801
    with pytest.raises(UnsupportedError, match="hipEventElapsedTime"):
        hip.library.check()


def test_streams_and_events_exist_and_are_idle(hip: Hip) -> None:
    stream, event = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.c.hipStreamCreate(ctypes.byref(stream)) == 0
    assert hip.c.hipEventCreate(ctypes.byref(event)) == 0
    assert hip.c.hipEventRecord(event, stream) == 0
    assert hip.c.hipStreamQuery(stream) == 0
    assert hip.c.hipStreamDestroy(stream) == 0
    assert hip.c.hipEventDestroy(event) == 0
    assert hip.c.hipStreamDestroy(None) == 400
