"""Where waves run, for kernels that ask: values that a device may give, and that mean nothing else.

``HW_REG_XCC_ID`` and ``HW_REG_HW_ID`` differ from run to run on a device. Here they follow from the number of the
workgroup and the seed: workgroups go round robin over XCDs, as the packet processors of an MI300 hand them out, and
within an XCD over shader engines and their compute units; waves of a workgroup share a compute unit and take its SIMDs
in turns. A launch that reads them has a remark.
"""

from __future__ import annotations

from dataclasses import dataclass

XCC_ID, HW_ID = 20, 4
"""Numbers of the hardware registers (LLVM, "hwreg" of gfx940)."""
_ENGINES = 4
"""Shader engines of an XCD (HIP, amd_device_functions.h: "4 SEs/XCC for gfx940-942")."""
_SIMDS, _WAVES_OF_SIMD = 4, 8
_SIMD, _UNIT, _ENGINE, _GROUP = 4, 8, 13, 16
"""First bits of the fields of HW_ID (HIP, amd_device_functions.h): SIMD_ID, CU_ID, SE_ID, TG_ID; WAVE_ID is at 0."""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """What of a device decides where a workgroup runs.

    Attributes:
        xcds: accelerator complex dies of the device or partition.
        compute_units: of all of them together.
    """

    xcds: int = 8
    compute_units: int = 304

    @property
    def units_of_engine(self) -> int:
        """Compute units of a shader engine that every engine has."""
        return max(1, self.compute_units // self.xcds // _ENGINES)


MI300X = Topology()
"""The whole of an MI300X."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The two registers of one wave."""

    xcc_id: int
    hw_id: int


def place(topology: Topology, seed: int, workgroup: int, wave: int) -> Placement:
    """Return where a wave runs.

    Args:
        topology: of the device.
        seed: of the launch.
        workgroup: its number in the grid.
        wave: number in the workgroup.
    """
    turn = workgroup // topology.xcds + seed
    engine, unit = turn % _ENGINES, turn // _ENGINES % topology.units_of_engine
    simd, slot = wave % _SIMDS, wave // _SIMDS % _WAVES_OF_SIMD
    fields = slot | simd << _SIMD | unit << _UNIT | engine << _ENGINE | turn % 16 << _GROUP
    return Placement(xcc_id=workgroup % topology.xcds, hw_id=fields)
