"""What this machine has: probes that look, never raise, and say what a missing thing is needed for.

Nothing here contacts the network unless asked to, and nothing waits longer than ``TIMEOUT``.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

TIMEOUT = 5.0
"""Seconds that one probe may take."""
ONLINE_TIMEOUT = 60.0
"""Seconds that the package index may take; pip itself retries within them."""
DISK_NEEDED = 2 * 10**9
"""Bytes that a run with the toolchain ``llvm`` needs at most, generously: torch headers, objects, packages."""
MEMORY_PER_JOB = 2 * 10**9
"""Bytes that one compiler process takes at most on the largest translation unit seen, generously."""

_MEMINFO = Path("/proc/meminfo")
_KFD = Path("/dev/kfd")
_KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
_GFX_MAJOR, _GFX_MINOR = 10_000, 100


class Health(StrEnum):
    """How a probe ended."""

    OK = "ok"
    LOW = "low"
    """It is there, and may not suffice."""
    MISSING = "missing"
    SKIPPED = "skipped"
    """Not looked at."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One thing that was looked for.

    Attributes:
        name: what was looked for.
        health: how it ended.
        detail: what was seen, one line.
        needed_by: verbs and options that need it, for people.
        fix: what to do where it is missing or low; ``None`` where it is fine.
        blocks_run: whether the main job cannot work without it.
    """

    name: str
    health: Health
    detail: str
    needed_by: str
    fix: str | None = None
    blocks_run: bool = False


def probe_all(*, out: Path, cache: Path, online: bool) -> tuple[Probe, ...]:
    """Look at everything; a probe that fails in an unforeseen way says so and stops none of the others.

    Args:
        out: the output folder, which need not exist.
        cache: the folder for what several runs share.
        online: whether the package index may be contacted.
    """
    toolchains = [_guarded(probe) for probe in (zig_llvm, hipcc, docker)]
    probes: list[Callable[[], Probe]] = [
        python,
        cores,
        memory,
        lambda: disk("disk for the output", out, blocks_run=True),
        lambda: disk("disk for the cache", cache, blocks_run=True),
        podman,
        git,
        git_lfs,
        gpu,
        lambda: package_index(online=online),
    ]
    return (any_toolchain(toolchains), *toolchains, *(_guarded(probe) for probe in probes))


def any_toolchain(toolchains: list[Probe]) -> Probe:
    """Say whether there is any toolchain at all, without which nothing can be built."""
    there = [probe.name for probe in toolchains if probe.health is Health.OK]
    return Probe(
        name="a toolchain",
        health=Health.OK if there else Health.MISSING,
        detail=", ".join(there) or "none of those below",
        needed_by="build, run",
        fix=None if there else "Install one of those below; llvm needs nothing but pip.",
        blocks_run=True,
    )


def zig_llvm() -> Probe:
    """Look for the toolchain ``llvm``: clang and lld from the ziglang package, at the version that was tried."""
    needed_by = "build and run with toolchain llvm"
    pinned = _pinned("ziglang")
    fix = f"Run `{Path(sys.executable).name} -m pip install 'rocmatrix[embedded]'`."
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        detail = f"the package ziglang is not installed{f' (needs {pinned})' if pinned else ''}"
        return Probe(name="llvm", health=Health.MISSING, detail=detail, needed_by=needed_by, fix=fix)
    if pinned and version != pinned:
        detail = f"ziglang {version} is installed, and only {pinned} was tried"
        return Probe(name="llvm", health=Health.LOW, detail=detail, needed_by=needed_by, fix=fix)
    return Probe(name="llvm", health=Health.OK, detail=f"ziglang {version}", needed_by=needed_by)


def hipcc() -> Probe:
    """Look for AMD's own compiler on PATH or below ``ROCM_PATH``."""
    needed_by = "build and run with toolchain hipcc"
    found = shutil.which("hipcc") or shutil.which("hipcc", path=f"{os.environ.get('ROCM_PATH', '/opt/rocm')}/bin")
    if not found:
        return Probe(
            name="hipcc",
            health=Health.MISSING,
            detail="not on PATH, not below ROCM_PATH",
            needed_by=needed_by,
            fix="Install ROCm, or use toolchain llvm.",
        )
    printed = _output([found, "--version"])
    return Probe(name="hipcc", health=Health.OK, detail=f"{found}: {printed or 'version unknown'}", needed_by=needed_by)


def docker() -> Probe:
    """Ask the Docker daemon for its version over its socket."""
    needed_by = "build and run with --engine docker"
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        detail = f"DOCKER_HOST is {host}; only unix sockets are looked at"
        return Probe(name="docker", health=Health.SKIPPED, detail=detail, needed_by=needed_by)
    path = host.removeprefix("unix://")
    try:
        version = _docker_version(path)
    except (OSError, http.client.HTTPException) as err:
        return Probe(
            name="docker",
            health=Health.MISSING,
            detail=f"no daemon at {path}: {_cause(err)}",
            needed_by=needed_by,
            fix="Start Docker and be in its group, or use --engine host.",
        )
    return Probe(name="docker", health=Health.OK, detail=f"daemon {version} at {path}", needed_by=needed_by)


def podman() -> Probe:
    """Look for podman on PATH; no verb uses it yet."""
    found = shutil.which("podman")
    detail = _output([found, "--version"]) if found else "not on PATH"
    health = Health.OK if found else Health.MISSING
    return Probe(name="podman", health=health, detail=detail or "version unknown", needed_by="nothing yet")


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


def disk(name: str, folder: Path, *, blocks_run: bool) -> Probe:
    """Measure the space left where a folder is or will be, and whether it can be written."""
    place = next((parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        fix, detail, health = f"Make {place} a folder you can write to, or choose another.", f"{place}", Health.MISSING
    elif free < DISK_NEEDED:
        fix, health = f"Free some: a run may need up to {DISK_NEEDED / 1e9:.0f} GB.", Health.LOW
    else:
        return Probe(name=name, health=Health.OK, detail=detail, needed_by="build, run", blocks_run=blocks_run)
    return Probe(name=name, health=health, detail=detail, needed_by="build, run", fix=fix, blocks_run=blocks_run)


def git() -> Probe:
    """Look for git, which provenance is read with."""
    needed_by = "collect, run: provenance in metadata.json"
    return _program("git", ["git", "--version"], needed_by=needed_by, fix="Install the package git.")


def git_lfs() -> Probe:
    """Look for git-lfs; no verb of this version needs it."""
    return _program("git-lfs", ["git-lfs", "--version"], needed_by="nothing yet", fix="Install the package git-lfs.")


def gpu() -> Probe:
    """Look for AMD GPUs that the kernel driver offers, by their gfx names."""
    needed_by = "nothing yet: no verb runs on a GPU in this version"
    if not _KFD.exists():
        detail = "no /dev/kfd: no AMD GPU, or its driver is not loaded"
        return Probe(name="GPU", health=Health.MISSING, detail=detail, needed_by=needed_by)
    names = [name for node in sorted(_KFD_NODES.glob("*/properties")) if (name := _gfx_name(node.read_text()))]
    listed = ", ".join(names) or "none that the driver names"
    if os.access(_KFD, os.R_OK | os.W_OK):
        return Probe(name="GPU", health=Health.OK, detail=listed, needed_by=needed_by)
    return Probe(
        name="GPU",
        health=Health.LOW,
        detail=f"{listed}, but /dev/kfd cannot be opened",
        needed_by=needed_by,
        fix="Join the group that owns /dev/kfd.",
    )


def package_index(*, online: bool) -> Probe:
    """Let pip ask the index that it is configured with for one small package, if that is allowed."""
    needed_by = "build and run: torch headers, the first time"
    name = "package index"
    if not online:
        return Probe(name=name, health=Health.SKIPPED, detail="not asked; --online asks it", needed_by=needed_by)
    command = ["-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--no-input", "packaging"]
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=ONLINE_TIMEOUT, check=False
        )
        said = done.stderr.strip().splitlines()
        answered, detail = done.returncode == 0, "answers" if done.returncode == 0 else (said or ["pip failed"])[-1]
    except (OSError, subprocess.SubprocessError) as err:
        answered, detail = False, _cause(err)
    return Probe(
        name=name,
        health=Health.OK if answered else Health.MISSING,
        detail=detail,
        needed_by=needed_by,
        fix=None if answered else "Check the network and pip's configuration (`pip config list`).",
    )


def _guarded(probe: Callable[[], Probe]) -> Probe:
    """Return what a probe found; one that fails in an unforeseen way has found nothing, and says why."""
    try:
        return probe()
    except Exception as err:  # noqa: BLE001 - a doctor that falls over tells nobody anything
        name = getattr(probe, "__name__", "probe").strip("<>")
        return Probe(name=name, health=Health.SKIPPED, detail=f"could not be looked at: {_cause(err)}", needed_by="")


def _program(name: str, command: list[str], *, needed_by: str, fix: str) -> Probe:
    if not shutil.which(command[0]):
        return Probe(name=name, health=Health.MISSING, detail="not on PATH", needed_by=needed_by, fix=fix)
    return Probe(name=name, health=Health.OK, detail=_output(command) or "version unknown", needed_by=needed_by)


def _output(command: list[str]) -> str:
    """Return the first line that a command prints; empty if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(done.stdout.strip().splitlines()), "") if done.returncode == 0 else ""


def _docker_version(path: str) -> str:
    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(TIMEOUT)
        link.connect(path)
        connection.sock = link
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        return answer.getheader("Server") or f"answers with status {answer.status}"


def _gfx_name(properties: str) -> str | None:
    """Return the gfx name of a KFD node: ``gfx_target_version`` 90402 is gfx942; 0 is a CPU."""
    fields: Mapping[str, str] = dict(line.split(maxsplit=1) for line in properties.splitlines() if " " in line)
    version = int(fields.get("gfx_target_version", "0"))
    if not version:
        return None
    major, rest = divmod(version, _GFX_MAJOR)
    minor, stepping = divmod(rest, _GFX_MINOR)
    return f"gfx{major}{minor:x}{stepping:x}"


def _pinned(package: str) -> str | None:
    """Return the exact version of a package that rocmatrix's own metadata asks for, if it is installed with any."""
    try:
        requirements = importlib.metadata.requires("rocmatrix") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    exact = [line.partition(";")[0] for line in requirements if line.startswith(f"{package}==")]
    return exact[0].partition("==")[2].strip() if exact else None


def _cause(error: BaseException) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said or type(error).__name__
