"""Which gfx942 the runtime plays: product and partition."""

from __future__ import annotations

import ctypes
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from rocmatrix.emulator.placement import Topology
from rocmatrix.errors import InputError

DEFAULT = "mi300x"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What differs between products; ``profiles.toml``.

    Attributes:
        name: as the runtime says it.
        compute_units: number of them.
        xcds: dies that they are on.
        memory: bytes.
        integrated: 1 if host and device share their memory.
        clock: kHz; likewise ``memory_clock``.
        bus_width: bits.
    """

    name: str
    compute_units: int
    xcds: int
    memory: int
    integrated: int
    clock: int
    memory_clock: int
    bus_width: int
    source: str
    date: str
    verified: bool

    @property
    def topology(self) -> Topology:
        """What decides where workgroups run."""
        return Topology(xcds=self.xcds, compute_units=self.compute_units)


class ProfileStructure(ctypes.Structure):
    """``Profile`` of ``hip.h``."""

    _fields_ = (
        ("name", ctypes.c_char * 256),
        ("memory", ctypes.c_int64),
        ("compute_units", ctypes.c_int32),
        ("clock", ctypes.c_int32),
        ("memory_clock", ctypes.c_int32),
        ("bus_width", ctypes.c_int32),
        ("integrated", ctypes.c_int32),
        ("version", ctypes.c_int32),
    )


@cache
def profiles() -> dict[str, Profile]:
    """Return every profile by its key, e.g. ``mi300x-cpx``."""
    table = tomllib.loads(files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8"))
    return msgspec.convert(table["profiles"], dict[str, Profile])


def profile(key: str) -> Profile:
    """Return a profile.

    Raises:
        InputError: there is none of this name.
    """
    if key not in profiles():
        raise InputError(f"there is no emulated device {key!r}", fix=f"Choose one of {', '.join(profiles())}.")
    return profiles()[key]


def structure(chosen: Profile, soname: str) -> ProfileStructure:
    """Return a profile as the runtime of this SONAME takes it; HIP numbers its version major * 10**7."""
    major = int(soname.rpartition(".")[2])
    return ProfileStructure(
        name=chosen.name.encode(),
        memory=chosen.memory,
        compute_units=chosen.compute_units,
        clock=chosen.clock,
        memory_clock=chosen.memory_clock,
        bus_width=chosen.bus_width,
        integrated=chosen.integrated,
        version=major * 10_000_000,
    )
