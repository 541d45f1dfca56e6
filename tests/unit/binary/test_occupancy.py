"""Occupancy: each limit by itself, at both sides of its edge. What the compiler says is compared in a system test."""

from __future__ import annotations

import pytest

from rocmatrix.binary.kernel_facts import Limit, Occupancy
from rocmatrix.binary.occupancy import occupancy


def of(*, vgprs: int = 8, sgprs: int = 16, lds: int = 0, max_workgroup: int = 256, arch: str = "gfx942") -> Occupancy:
    found = occupancy(arch, vgprs=vgprs, sgprs=sgprs, lds=lds, max_workgroup=max_workgroup, wavefront=64)
    assert found is not None
    return found


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [(0, 8), (64, 8), (65, 7), (72, 7), (73, 6), (128, 4), (129, 3), (168, 3), (256, 2), (257, 1), (512, 1)],
)
def test_vector_registers_are_given_out_by_eight_of_512(arch: str, vgprs: int, waves: int) -> None:
    found = of(vgprs=vgprs, arch=arch)
    assert (found.waves_per_simd, found.by_vector_registers) == (waves, waves)
    assert found.limit is (Limit.VECTOR_REGISTERS if waves < 8 else Limit.WAVE_SLOTS)


@pytest.mark.parametrize(
    ("lds", "groups", "waves"),
    [(1, 8, 8), (8192, 8, 8), (8193, 7, 7), (32768, 2, 2), (32769, 1, 1), (65536, 1, 1), (65537, 0, 0)],
)
def test_lds_is_shared_by_the_workgroups_of_a_compute_unit(lds: int, groups: int, waves: int) -> None:
    found = of(lds=lds)
    assert (found.workgroups_per_cu, found.by_lds, found.waves_per_simd) == (groups, waves, waves)


@pytest.mark.parametrize(("sgprs", "waves"), [(100, 8), (101, 7)])
def test_scalar_registers(sgprs: int, waves: int) -> None:
    assert of(sgprs=sgprs).waves_per_simd == waves


@pytest.mark.parametrize(
    ("workgroup", "groups", "waves"), [(64, 32, 8), (65, 16, 8), (128, 16, 8), (448, 4, 7), (704, 2, 6), (1024, 2, 8)]
)
def test_whole_workgroups_fill_the_wave_slots(workgroup: int, groups: int, waves: int) -> None:
    found = of(max_workgroup=workgroup)
    assert (found.workgroups_per_cu, found.waves_per_simd) == (groups, waves)


def test_registers_leave_room_for_whole_workgroups_only() -> None:
    found = of(vgprs=96, max_workgroup=1024)
    assert (found.waves_per_simd, found.workgroups_per_cu) == (5, 1)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx900", "machine 0x7f", None])
def test_where_the_numbers_are_not_known_nothing_is_said(arch: str | None) -> None:
    assert occupancy(arch, vgprs=8, sgprs=8, lds=0, max_workgroup=64, wavefront=64) is None


@pytest.mark.parametrize("numbers", [(0, 64), (64, 0), (-1, 64), (64, -64)])
def test_sizes_that_no_kernel_has_do_not_raise(numbers: tuple[int, int]) -> None:
    assert occupancy("gfx942", vgprs=-5, sgprs=-5, lds=-5, max_workgroup=numbers[0], wavefront=numbers[1]) is None
    assert occupancy("gfx942", vgprs=-5, sgprs=-5, lds=-5, max_workgroup=64, wavefront=64) is not None
