"""How many waves of a kernel a SIMD can hold, by the compiler's own formula; its numbers are in ``occupancy.toml``."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from rocmatrix.binary.kernel_facts import Limit, Occupancy


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What a compute unit has, as ``occupancy.toml`` explains it."""

    simds: int
    waves: int
    vector: tuple[int, int]
    lds: tuple[int, int]
    scalar: tuple[tuple[int, int], ...]


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    arch: dict[str, Unit]


@lru_cache(maxsize=4096)
def occupancy(
    arch: str | None, *, vgprs: int, sgprs: int, lds: int, max_workgroup: int, wavefront: int
) -> Occupancy | None:
    """Return how many waves of a kernel a SIMD can hold; ``None`` where the numbers of the arch are not known.

    Workgroups are taken to be as large as the kernel allows, and to use no LDS beyond the static.

    Args:
        arch: processor, e.g. ``gfx942``.
        vgprs: VGPRs and AGPRs together.
        sgprs: SGPRs.
        lds: bytes of static LDS of a workgroup.
        max_workgroup: work-items of a workgroup at most.
        wavefront: lanes of a wave.
    """
    table = _table()
    unit = table.arch.get(arch or "")
    if unit is None or wavefront <= 0 or max_workgroup <= 0:
        return None
    waves = -(-max_workgroup // wavefront)
    slots = unit.waves * unit.simds // waves
    held = unit.lds[0] // _rounded(lds, unit.lds[1]) if lds > 0 else None
    vector = min(unit.vector[0] // _rounded(max(vgprs, 1), unit.vector[1]), unit.waves)
    by_lds = None if held is None else _per_simd(min(held, slots), waves, unit)
    limits = {
        Limit.WAVE_SLOTS: _per_simd(slots, waves, unit),
        Limit.VECTOR_REGISTERS: vector,
        Limit.SCALAR_REGISTERS: _by_scalar(sgprs, unit),
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
