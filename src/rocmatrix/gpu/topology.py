"""What the kernel driver says of AMD GPUs: the topology of KFD, and what sysfs has beside it.

Nothing is opened but files below ``/sys``, so that this works without any right to use a GPU. Source of the layout:
``drivers/gpu/drm/amd/amdkfd/kfd_topology.c`` of Linux; ``properties`` has ``key value`` lines in decimal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
DRM = Path("/sys/class/drm")
DRIVER_VERSION = Path("/sys/module/amdgpu/version")

_AMD = 0x1002
_MAJOR, _MINOR = 10_000, 100


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU as programs see it: a whole card, or a partition of one.

    Attributes:
        index: its place among the GPUs of this machine, from 0, as ROCr and HIP count where nothing hides one.
        node: number of its KFD node.
        gfx: the arch that the driver names, e.g. ``gfx942``.
        device_id: PCI device id.
        unique_id: of the card; partitions of one card share it; 0 where the driver has none.
        render_minor: number of its render node, ``/dev/dri/renderD<minor>``; it does not follow from ``index``.
    """

    index: int
    node: int
    gfx: str
    device_id: int
    unique_id: int
    render_minor: int

    @property
    def render_node(self) -> str:
        """Path of the render node."""
        return f"/dev/dri/renderD{self.render_minor}"


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory of a GPU, in bytes."""

    total: int
    used: int


def list_gpus(nodes: Path = NODES) -> tuple[Gpu, ...]:
    """Return the AMD GPUs of this machine in the driver's order; empty where the driver is not loaded.

    A node that may not be read is skipped: in a container whose device cgroup lacks a GPU, reading its ``properties``
    is refused.
    """
    found: list[Gpu] = []
    numbers = sorted(int(path.name) for path in nodes.glob("*") if path.name.isdecimal())
    for number in numbers:
        fields = _properties(nodes / str(number) / "properties")
        gfx = gfx_name(fields.get("gfx_target_version", 0))
        if gfx is None or fields.get("vendor_id", _AMD) != _AMD:
            continue
        found.append(
            Gpu(
                index=len(found),
                node=number,
                gfx=gfx,
                device_id=fields.get("device_id", 0),
                unique_id=fields.get("unique_id", 0),
                render_minor=fields.get("drm_render_minor", -1),
            )
        )
    return tuple(found)


def gfx_name(version: int) -> str | None:
    """Return the arch of a ``gfx_target_version``: 90402 is gfx942; steppings are hexadecimal; 0 is a CPU."""
    if version <= 0:
        return None
    major, rest = divmod(version, _MAJOR)
    minor, stepping = divmod(rest, _MINOR)
    return f"gfx{major}{minor:x}{stepping:x}"


def memory_of(gpu: Gpu, drm: Path = DRM) -> Memory | None:
    """Return how much memory a GPU has and how much of it somebody uses; ``None`` where the driver does not say.

    Partitions other than a card's first have no such files.
    """
    folder = drm / f"renderD{gpu.render_minor}" / "device"
    total, used = _number(folder / "mem_info_vram_total"), _number(folder / "mem_info_vram_used")
    return None if total is None or used is None else Memory(total=total, used=used)


def driver_version(path: Path = DRIVER_VERSION) -> str:
    """Return the version of the driver: of amdgpu where it is AMD's own package, else that of the kernel it is in."""
    try:
        return f"amdgpu {path.read_text(errors='replace').strip()[:64]}"
    except OSError:
        return f"amdgpu of Linux {os.uname().release}"


def _properties(path: Path) -> Mapping[str, int]:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
