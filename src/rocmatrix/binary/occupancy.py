"""How many waves of a kernel a SIMD can hold, by the compiler's own formula; its numbers are in ``occupancy.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec

from rocmatrix.binary.kernel_facts import Kernel, Limit, Occupancy


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What a compute unit has, as ``occupancy.toml`` explains it."""

    simds: int
    waves: int
    vector: tuple[int, int]
    lds: tuple[int, int]
    groups: int
    scalar: tuple[tuple[int, int], ...]


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    arch: dict[str, Unit]


def occupancy(kernel: Kernel, arch: str | None) -> Occupancy | None:
    """Return how many waves of a kernel a SIMD can hold; ``None`` where the numbers of the arch are not known.

    Workgroups are taken to be as large as the kernel allows, and to use no LDS beyond the static.
    """
    table = _table()
    unit = table.arch.get(arch or "")
    if unit is None or kernel.wavefront <= 0 or kernel.max_workgroup <= 0:
        return None
    waves = -(-kernel.max_workgroup // kernel.wavefront)
    slots = unit.waves * unit.simds if waves == 1 else min(unit.waves * unit.simds // waves, unit.groups)
    held = unit.lds[0] // _rounded(kernel.lds, unit.lds[1]) if kernel.lds > 0 else None
    vector = min(unit.vector[0] // _rounded(max(kernel.vgprs, 1), unit.vector[1]), unit.waves)
    by_lds = None if held is None else _per_simd(min(held, slots), waves, unit)
    limits = {
        Limit.WAVE_SLOTS: _per_simd(slots, waves, unit),
        Limit.VECTOR_REGISTERS: vector,
        Limit.SCALAR_REGISTERS: _by_scalar(kernel.sgprs, unit),
        Limit.LDS: unit.waves if by_lds is None else by_lds,
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(
        waves_per_simd=limits[limit],
        limit=limit,
        by_vector_registers=vector,
        by_lds=by_lds,
        workgroups_per_cu=min(slots if held is None else min(held, slots), vector * unit.simds // waves),
        source=table.source,
    )


def _per_simd(groups: int, waves: int, unit: Unit) -> int:
    return min(-(-groups * waves // unit.simds), unit.waves)


def _by_scalar(registers: int, unit: Unit) -> int:
    return next((waves for most, waves in unit.scalar[:-1] if registers <= most), unit.scalar[-1][1])


def _rounded(number: int, granule: int) -> int:
    return -(-number // granule) * granule


@cache
def _table() -> _Table:
    text = files("rocmatrix.binary").joinpath("occupancy.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), type=_Table)
