"""Where a machine has what there is to know of its GPUs: paths, those of Linux."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocmatrix.gpu.nodes import KFD
from rocmatrix.gpu.topology import DRIVER_VERSION, DRM, NODES


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Files of a machine.

    Attributes:
        nodes: nodes of KFD's topology.
        drm: what sysfs has of graphics devices.
        driver_version: of a driver that is AMD's own package.
        devices: device nodes.
    """

    nodes: Path = NODES
    drm: Path = DRM
    driver_version: Path = DRIVER_VERSION
    devices: Path = KFD.parent


THIS_MACHINE = Machine()
