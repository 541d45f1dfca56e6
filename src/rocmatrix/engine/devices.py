"""Devices of the engine's machine that a container may use; a build uses none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DeviceAccess:
    """Device nodes, and what it takes to open them as an ordinary user.

    Attributes:
        nodes: paths of device nodes, the same in the container as on the engine's machine.
        groups: ids of the groups that the commands get besides their own: numbers, since an image need not have the
            name (``render``), or may have it with another number.
    """

    nodes: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()


NO_DEVICES = DeviceAccess()
