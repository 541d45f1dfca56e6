"""What a private environment needs of the machine, and what to say where it is missing."""

from __future__ import annotations

import errno
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.errors import MissingRequirementError

ROOM = "an environment takes 0.6 to 0.9 GB"  # run 541 MB, test 838 MB, torch 888 MB, measured on 2026-11-29 (du)

_VENV_PACKAGES: Mapping[str, str] = {
    "debian": "apt-get install python3-venv",  # Debian and Ubuntu ship ensurepip apart from Python
    "fedora": "dnf install python3-pip",
    "rhel": "dnf install python3-pip",
    "suse": "zypper install python3-pip",
    "alpine": "apk add py3-pip",
    "arch": "pacman -S python-pip",
}


def require_linux_x86_64() -> None:
    """Raise MissingRequirementError unless this is a 64-bit Python on x86-64 Linux.

    The pinned packages include compilers, which are locked and tested for that platform alone.
    """
    system, machine = platform.system(), platform.machine()
    if system == "Linux" and machine == "x86_64" and sys.maxsize > 2**32:
        return
    bits = 64 if sys.maxsize > 2**32 else 32
    raise MissingRequirementError(
        f"this needs a 64-bit Python on x86-64 Linux; this is a {bits}-bit Python on {system} {machine}",
        fix="Run it on such a machine, or in a virtual machine or container that is one.",
    )


def how_to_get_pip() -> str:
    """Return the command that installs what a new environment gets its pip from, for this distribution."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:  # no os-release file: nothing is known about the distribution
        release = {}
    for name in [release.get("ID", ""), *release.get("ID_LIKE", "").split()]:
        if command := _VENV_PACKAGES.get(name):
            version = f"python3.{sys.version_info.minor}-venv"
            also = f" (or {version}, if this Python is not the default one)" if name == "debian" else ""
            return command + also
        if name.startswith("opensuse"):
            return _VENV_PACKAGES["suse"]
    return "your distribution's package with pip or ensurepip for this Python"


def size(number: int) -> str:
    """Return a number of bytes for people, in decimal units as pip prints them: ``101.1 MB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number} bytes"


def system_trouble(error: OSError, directory: Path) -> MissingRequirementError:
    """Return the error for a set-up in ``directory`` that the operating system stopped: disk, rights, or else."""
    what = f"the private environment could not be set up: {error.strerror or error}"
    if error.filename and str(error.filename) != str(directory):
        what += f": {error.filename}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        fix = f"Make room there: {ROOM}."
    else:
        fix = "This user must be able to make files there."
    return MissingRequirementError(
        what, where=str(directory), fix=f"{fix} ROCMATRIX_ENVIRONMENTS names another folder for private environments."
    )
