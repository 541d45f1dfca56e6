"""Is there something here that compiles kernels, that executes them, and that runs containers?"""

from __future__ import annotations

import http.client
import importlib.metadata
import os
import shutil
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from rocmatrix.machine.probe import TIMEOUT, Health, Probe, cause, output


def any_toolchain(toolchains: Iterable[Probe]) -> Probe:
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
    printed = output([found, "--version"])
    return Probe(name="hipcc", health=Health.OK, detail=f"{found}: {printed or 'version unknown'}", needed_by=needed_by)


def emulator() -> Probe:
    """Look for what the emulator of gfx942 needs: its decoder, from the tinygrad package."""
    needed_by = "check, run: without it units are untested"
    try:
        version = importlib.metadata.version("tinygrad")
    except importlib.metadata.PackageNotFoundError:
        return Probe(
            name="emulator",
            health=Health.MISSING,
            detail="the package tinygrad is not installed",
            needed_by=needed_by,
            fix=f"Run `{Path(sys.executable).name} -m pip install 'rocmatrix[emulator]'`.",
        )
    return Probe(name="emulator", health=Health.OK, detail=f"tinygrad {version}", needed_by=needed_by)


def docker() -> Probe:
    """Ask the Docker daemon for its version over its socket."""
    needed_by = "toolchains that are images, check --on gpu"
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
            detail=f"no daemon at {path}: {cause(err)}",
            needed_by=needed_by,
        )
    return Probe(name="docker", health=Health.OK, detail=f"daemon {version} at {path}", needed_by=needed_by)


def podman() -> Probe:
    """Look for podman on PATH."""
    found = shutil.which("podman")
    detail = output([found, "--version"]) if found else "not on PATH"
    health = Health.OK if found else Health.MISSING
    return Probe(name="podman", health=health, detail=detail or "version unknown", needed_by="no verb yet")


def _docker_version(path: str) -> str:
    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(TIMEOUT)
        link.connect(path)
        connection.sock = link
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        return answer.getheader("Server") or f"answers with status {answer.status}"


def _pinned(package: str) -> str | None:
    """Return the exact version of a package that rocmatrix's own metadata asks for, if it is installed with any."""
    try:
        requirements = importlib.metadata.requires("rocmatrix") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    exact = [line.partition(";")[0] for line in requirements if line.startswith(f"{package}==")]
    return exact[0].partition("==")[2].strip() if exact else None
