"""Python, cores, memory, disk, git and GPU of this machine."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from rocmatrix.gpu.nodes import KFD
from rocmatrix.gpu.topology import list_gpus
from rocmatrix.machine.probe import Health, Probe, output

DISK_NEEDED = 500 * 10**6
"""Bytes. Measured in November 2026, toolchain ``llvm``, kernels/gemm: 96 MB of cache, 1 MB a unit; times 5."""
MEMORY_PER_JOB = 500 * 10**6
"""Bytes. Measured likewise: no process of a build was larger than 175 MB; times 3."""

_MEMINFO = Path("/proc/meminfo")


def python() -> Probe:
    """Say which Python this is; an older one could not have started rocmatrix."""
    detail = f"{platform.python_version()} ({sys.executable}), {platform.system()} {platform.machine()}"
    here = (platform.system(), platform.machine())
    if here == ("Linux", "x86_64"):
        return Probe(name="Python", health=Health.OK, detail=detail, needed_by="everything", blocks_run=True)
    return Probe(
        name="Python",
        health=Health.MISSING,
        detail=detail,
        needed_by="everything",
        fix="Use a Linux x86-64 machine.",
        blocks_run=True,
    )


def cores() -> Probe:
    """Count the cores that this process may use."""
    usable = len(os.sched_getaffinity(0))
    return Probe(name="cores", health=Health.OK, detail=f"{usable} usable", needed_by="--jobs")


def memory() -> Probe:
    """Read how much memory is available, in bytes, and hold it against the cores."""
    fields = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
    available = int(fields["MemAvailable"].split()[0]) * 1024
    jobs = len(os.sched_getaffinity(0))
    enough = available >= MEMORY_PER_JOB * jobs
    return Probe(
        name="memory",
        health=Health.OK if enough else Health.LOW,
        detail=f"{available / 1e9:.1f} GB available",
        needed_by="build, run",
        fix=None if enough else f"Use --jobs {max(1, available // MEMORY_PER_JOB)}.",
    )


def disk(name: str, folder: Path) -> Probe:
    """Measure the space left where a folder is or will be, and whether it can be written."""
    place = next((parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        fix, detail, health = f"Make {place} a folder you can write to, or choose another.", f"{place}", Health.MISSING
    elif free < DISK_NEEDED:
        fix, health = f"Free some: a run may need up to {DISK_NEEDED / 1e6:.0f} MB.", Health.LOW
    else:
        return Probe(name=name, health=Health.OK, detail=detail, needed_by="build, run", blocks_run=True)
    return Probe(name=name, health=health, detail=detail, needed_by="build, run", fix=fix, blocks_run=True)


def engine_host() -> Probe:
    """Name the engine that is always there, and how far it isolates a build (promise 5 of the design)."""
    return Probe(
        name="engine host",
        health=Health.OK,
        detail="always there; builds get a scrubbed environment",
        needed_by="build, run",
    )


def git() -> Probe:
    """Look for git, which provenance is read with."""
    needed_by = "collect, run: provenance in metadata.json"
    return _program("git", ["git", "--version"], needed_by=needed_by, fix="Install the package git.")


def git_lfs() -> Probe:
    """Look for git-lfs; no verb of this version needs it."""
    return _program("git-lfs", ["git-lfs", "--version"], needed_by="no verb yet", fix="Install the package git-lfs.")


def gpu() -> Probe:
    """Look for AMD GPUs that the kernel driver offers, by their gfx names."""
    needed_by = "check --on gpu; doctor --gpu looks at all that it needs"
    if not KFD.exists():
        detail = "no /dev/kfd: no AMD GPU, or its driver is not loaded"
        return Probe(name="GPU", health=Health.MISSING, detail=detail, needed_by=needed_by)
    listed = ", ".join(gpu.gfx for gpu in list_gpus()) or "none that the driver names"
    return Probe(name="GPU", health=Health.OK, detail=listed, needed_by=needed_by)


def _program(name: str, command: list[str], *, needed_by: str, fix: str) -> Probe:
    if not shutil.which(command[0]):
        return Probe(name=name, health=Health.MISSING, detail="not on PATH", needed_by=needed_by, fix=fix)
    return Probe(name=name, health=Health.OK, detail=output(command) or "version unknown", needed_by=needed_by)
