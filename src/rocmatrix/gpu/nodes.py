"""The device nodes of a GPU, and whether an ordinary user of a container can open them."""

from __future__ import annotations

import stat
from pathlib import Path

from rocmatrix.engine.devices import DeviceAccess
from rocmatrix.errors import MissingRequirementError
from rocmatrix.gpu.topology import Gpu

KFD = Path("/dev/kfd")
_BOTH = stat.S_IROTH | stat.S_IWOTH


def require_driver(kfd: Path = KFD) -> None:
    """Refuse a machine without the compute driver.

    Raises:
        MissingRequirementError: there is no ``/dev/kfd``.
    """
    if not kfd.exists():
        raise MissingRequirementError(
            f"this machine has no AMD GPU ({kfd} is not there)",
            where="--on gpu",
            fix="Load the driver amdgpu and pass the GPU on if this is a virtual machine or container, or use --on"
            " emulator, which executes the same machine code on this machine's processor.",
        )


def access_to(gpu: Gpu, *, devices: Path = Path("/dev")) -> DeviceAccess:
    """Return what a container gets to use one GPU and no other.

    Groups are the numbers that own the nodes: an image need not have their names. A node that everybody may open needs
    none.

    Args:
        gpu: the one.
        devices: folder of device nodes.

    Raises:
        MissingRequirementError: a node is not there, or no ordinary user may open it.
    """
    groups: list[int] = []
    nodes = (devices / "kfd", devices / "dri" / f"renderD{gpu.render_minor}")
    for node in nodes:
        group = _group(node)
        if group is not None and group not in groups:
            groups.append(group)
    return DeviceAccess(nodes=tuple(map(str, nodes)), groups=tuple(groups))


def _group(node: Path) -> int | None:
    """Return the group that may open a node; ``None`` if everybody may."""
    try:
        status = node.stat()
    except OSError as err:
        raise MissingRequirementError(
            f"there is no device node {node} ({err.strerror})",
            where="--on gpu",
            fix="See `ls -l /dev/kfd /dev/dri`; in a container, pass both on with --device.",
        ) from err
    if not stat.S_ISCHR(status.st_mode):
        raise MissingRequirementError(
            f"{node} is no device node", where="--on gpu", fix="Remove it, and load the driver amdgpu again."
        )
    if status.st_mode & _BOTH == _BOTH:
        return None
    if status.st_mode & stat.S_IRGRP and status.st_mode & stat.S_IWGRP and status.st_gid:
        return status.st_gid
    raise MissingRequirementError(
        f"no ordinary user may open {node} (mode {stat.S_IMODE(status.st_mode):04o}, group {status.st_gid})",
        where="--on gpu",
        fix=f"Let a group have it, as udev's rules of ROCm do: chgrp render {node} && chmod 660 {node}",
    )
