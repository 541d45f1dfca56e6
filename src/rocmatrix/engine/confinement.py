"""How a container that builds is made: what it may do, see and use.

Promise 5 of the design: no network, no capabilities, no new privileges, an ordinary user, a read-only root with a
``/tmp`` in memory, the engine's default seccomp profile, limits for processors, memory, processes and disk, and no
environment but what a command names. What commands read lies in a volume that is mounted read-only; what they write
goes into a file system in memory of limited size, so that nothing they do can fill the engine's disk.

Volumes instead of mounted folders: the engine may be on another machine. A volume that is mounted read-only can only be
filled through another container that has it writable: the *porter*, which is never started. The volumes have no names
of ours: the engine removes such a one with the container that uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmatrix.engine.connection import labels_of
from rocmatrix.engine.devices import NO_DEVICES, DeviceAccess
from rocmatrix.engine.limits import Limits

if TYPE_CHECKING:
    from docker import APIClient
    from docker.types import HostConfig

INPUTS = "/rocmatrix/in"
RESULTS = "/rocmatrix/out"
USER = 1000
"""User and group id of every command; owner of ``RESULTS``."""

_WAIT_FOR_US = "cat; :"
"""First process: ends with its input. It is a shell with a child, since a shell reaps the orphans that fall to it."""
_WAIT_FOR_EVER = "while sleep 3600; do :; done"


def create_porter(api: APIClient, image: str, *, volume: str | None) -> str:
    """Create the container that has the volume of the inputs writable, and return its id.

    Args:
        api: of the engine.
        image: any; nothing of it is run.
        volume: name of the volume; ``None`` makes a new one.
    """
    from docker.types import Mount  # noqa: PLC0415 - docker-py is loaded by now

    mount = Mount(INPUTS, volume, type="volume", labels=None if volume else labels_of("builder"))
    host = api.create_host_config(network_mode="none", mounts=[mount])
    made = api.create_container(
        image, ["/bin/true"], host_config=host, labels=labels_of("porter"), use_config_proxy=False
    )
    return str(made["Id"])


def create_builder(
    api: APIClient, image: str, porter: str, limits: Limits, *, keep: bool, devices: DeviceAccess = NO_DEVICES
) -> str:
    """Create the container that builds, with the inputs of a porter, and return its id.

    Args:
        api: of the engine.
        image: its id.
        porter: id of the container whose inputs it sees.
        limits: with nothing left open.
        keep: whether it outlives this process.
        devices: what it may use of the engine's machine.
    """
    from docker.types import Healthcheck  # noqa: PLC0415 - docker-py is loaded by now

    config = api.create_container_config(
        image,
        ["-c", _WAIT_FOR_EVER if keep else _WAIT_FOR_US],
        entrypoint=["/bin/sh"],
        user=f"{USER}:{USER}",
        hostname="rocmatrix",
        working_dir="/",
        labels=labels_of("kept" if keep else "builder"),
        stdin_open=not keep,
        healthcheck=Healthcheck(test=["NONE"]),
        host_config=_confinement(api, porter, limits, keep=keep, devices=devices),
    )
    config |= {"StdinOnce": not keep, "AttachStdin": not keep, "AttachStdout": False, "AttachStderr": False}
    made = api.create_container_from_config(config)  # type: ignore[no-untyped-call] # its stub has no types
    return str(made["Id"])


def _confinement(api: APIClient, porter: str, limits: Limits, *, keep: bool, devices: DeviceAccess) -> HostConfig:
    """Return the engine's settings of a container that builds."""
    from docker.types import DriverConfig, LogConfig, Mount, Ulimit  # noqa: PLC0415 - docker-py is loaded by now

    assert limits.memory is not None and limits.cpus is not None and limits.disk is not None  # noqa: S101, PT018
    options = f"size={limits.disk},uid={USER},gid={USER},mode=0755,nosuid,nodev"
    results = Mount(
        RESULTS,
        None,
        type="volume",
        labels=labels_of("kept" if keep else "builder"),
        driver_config=DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": options}),
    )
    return api.create_host_config(
        auto_remove=not keep,
        network_mode="none",
        ipc_mode="private",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        read_only=True,
        tmpfs={"/tmp": f"size={limits.disk // 2},mode=1777,nosuid,nodev"},  # noqa: S108 - the container's own
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=int(limits.cpus * 1e9),
        pids_limit=limits.processes,
        ulimits=[Ulimit(name="core", soft=0, hard=0)],
        log_config=LogConfig(type="none"),
        volumes_from=[f"{porter}:ro"],
        mounts=[results],
        devices=[f"{node}:{node}:rw" for node in devices.nodes],
        group_add=list(map(str, devices.groups)),
    )
