"""What a torch exports: read from the libraries of an installed torch, of a wheel, or of a wheel that pip finds.

Nothing of torch is loaded. Out of a wheel on a server only the libraries that are asked for are fetched, by HTTP range
requests: their dynamic symbols cannot be had for less, since a library is one compressed member of the archive and its
tables lie at its end where ``patchelf`` has moved them (seen in the wheels of torch 2.14).
"""

from __future__ import annotations

import ast
import mmap
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import UnreadableError
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Emit
from rocmatrix.toolchain.wheel import Wheel, WheelRequest, locate_wheel
from rocmatrix.toolchain.wheel_members import fetch_members

VERSION_FILE = "torch/version.py"
LIBRARIES = (
    "libc10.so",
    "libtorch_cpu.so",
    "libc10_hip.so",
    "libtorch_python.so",
    "libtorch_hip.so",
    "libtorch.so",
)
"""Libraries of torch that an extension may take symbols from; most of them are in the first two."""
PYTHON = "3.11"
"""Interpreter of the wheel that pip is asked for; the libraries but libtorch_python are the same for all."""
PLATFORM = "manylinux_2_28_x86_64"

_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(\+[A-Za-z0-9.]+)?")
_FIX = "Name a wheel of torch, the folder it is installed in, or a version that pip finds, e.g. 2.13.0+rocm7.2."


class Members(Protocol):
    """Gives files of a torch by their names in its wheel."""

    def fetch(self, names: tuple[str, ...], folder: Path) -> None:
        """Write the files that are there below a folder, under their names.

        Raises:
            MissingRequirementError: they cannot be reached or are damaged.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Torch:
    """A torch whose libraries can be read.

    Attributes:
        version: e.g. ``2.13.0+rocm7.2``.
        hip: ``torch.version.hip`` up to its minor, e.g. ``7.2``; ``None`` for a torch without ROCm.
    """

    version: str
    hip: str | None
    members: Members

    @property
    def minor(self) -> str:
        """Torch minor, e.g. ``2.13``."""
        return ".".join(self.version.split(".")[:2])

    def exports(self, library: str) -> frozenset[str] | None:
        """Return the symbols that one of its libraries offers to others; ``None`` if it has no such library.

        Raises:
            MissingRequirementError: the library cannot be reached or read.
        """
        with tempfile.TemporaryDirectory(prefix="rocmatrix-torch-") as folder:
            name = f"torch/lib/{library}"
            self.members.fetch((name,), Path(folder))
            path = Path(folder) / name
            return _exports(path) if path.exists() else None


def is_release(text: str) -> bool:
    """Return whether a text is a version that pip can be asked for, e.g. ``2.13.0+rocm7.2``."""
    return bool(_RELEASE.fullmatch(text))


def open_torch(named: str, emit: Emit) -> Torch:
    """Return the torch that a path or a version names.

    Raises:
        InputError: there is nothing there, or it is no torch.
        MissingRequirementError: pip finds no such wheel, or its server cannot be reached.
    """
    path = Path(named)
    if path.is_dir():
        members: Members = _Installed(_site(path))
    elif path.is_file():
        members = _InWheel(Wheel(url=path.resolve().as_uri(), sha256="", version=""), emit)
    elif is_release(named):
        request = WheelRequest(name="torch", version=named, python=PYTHON, platform=PLATFORM)
        members = _InWheel(locate_wheel(request), emit)
    else:
        raise InputError("there is no such torch", where=named, fix=_FIX)
    with tempfile.TemporaryDirectory(prefix="rocmatrix-torch-") as folder:
        members.fetch((VERSION_FILE,), Path(folder))
        version_file = Path(folder) / VERSION_FILE
        if not version_file.exists():
            raise InputError(f"there is no {VERSION_FILE} in it: this is no torch", where=named, fix=_FIX)
        version, hip = read_versions(version_file.read_bytes(), named)
    return Torch(version=version, hip=hip, members=members)


def _site(path: Path) -> Path:
    """Return the folder that holds ``torch``: the one named, its parent, or the one in a virtual environment."""
    if (path / "version.py").is_file() and path.name == "torch":
        return path.parent
    found = sorted(path.glob("lib/python3.*/site-packages/torch/version.py"))
    return found[0].parents[1] if found else path


@dataclass(frozen=True)
class _Installed:
    """An installed torch: its libraries are linked to, not copied."""

    site: Path

    def fetch(self, names: tuple[str, ...], folder: Path) -> None:
        for name in names:
            if (self.site / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).symlink_to((self.site / name).resolve())


@dataclass(frozen=True)
class _InWheel:
    """A wheel, here or on a server."""

    wheel: Wheel
    emit: Emit

    def fetch(self, names: tuple[str, ...], folder: Path) -> None:
        def wanted(name: str) -> str | None:
            return name if name in names else None

        what = f"{', '.join(name.rpartition('/')[2] for name in names)} of {self.wheel.file_name}"
        fetch_members(self.wheel, wanted, folder, what=what, emit=self.emit)


def read_versions(text: bytes, named: str) -> tuple[str, str | None]:
    """Return ``__version__`` and the ROCm minor of a ``version.py``, read without running it.

    Args:
        text: of the file.
        named: what it was found in, for messages.

    Raises:
        InputError: it is not Python, or names no version.
    """
    values: dict[str, object] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as err:
        raise InputError(f"{VERSION_FILE} is not Python", where=named, fix=_FIX) from err
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values.update({target.id: node.value.value for target in targets if isinstance(target, ast.Name)})
    version, hip = values.get("__version__"), values.get("hip")
    if not isinstance(version, str):
        raise InputError(f"{VERSION_FILE} names no version", where=named, fix=_FIX)
    return version, ".".join(hip.split("-")[0].split(".")[:2]) if isinstance(hip, str) else None


def _exports(path: Path) -> frozenset[str]:
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _, elf = read_shared_object(data)
    except (OSError, ValueError, UnreadableError) as err:
        fix = "Use an undamaged copy of it."
        raise MissingRequirementError(f"{path.name} of torch cannot be read: {err}", where=path.name, fix=fix) from err
    return frozenset(symbol.name for symbol in elf.symbols if symbol.defined)
