"""A private environment on disk: where it is, whether it is whole and still what its locks say, how it is run."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from private_environment.display import Display
from private_environment.lock import EnvironmentLock

_FORMAT = 1  # to be raised when what prepare() puts into an environment changes


def inherited_variables() -> dict[str, str]:
    """Return this process's environment variables without those that make a Python look elsewhere for its modules."""
    misleading = {"PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE"}
    return {name: value for name, value in os.environ.items() if name not in misleading}


@dataclass(frozen=True, kw_only=True)
class PrivateEnvironment:
    """One environment of this interpreter's version.

    Attributes:
        home: the folder of all private environments.
        name: what it is for: ``run``, ``test``, ``torch``.
        inputs: the files that decide what is in it; their bytes are in its stamp.
        search_paths: folders that its Python finds modules in beside its own packages, first one first.
        install: puts the packages into the environment, which holds only pip then; its progress goes to the display.
            Called once, and again when an input has changed.
    """

    home: Path
    name: str
    inputs: Sequence[Path]
    search_paths: Sequence[Path]
    install: Callable[[PrivateEnvironment, Display, EnvironmentLock], None]

    @property
    def directory(self) -> Path:
        """Return its folder, named after what it is for and the Python that made it: ``run-py3.11``."""
        return self.home / f"{self.name}-py{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}"

    @property
    def python(self) -> Path:
        """Return its Python."""
        return self.directory / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Return the folder that pip installs into (``site-packages``)."""
        base = str(self.directory)
        return Path(sysconfig.get_path("purelib", scheme="venv", vars={"base": base, "platbase": base}))

    def is_ready(self) -> bool:
        """Return whether it is complete and what a set-up would make now. Reads two files; runs nothing."""
        try:
            stamp = self._stamp.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return stamp == self._expected_stamp().encode() and self.python.exists()

    def complete(self) -> None:
        """Write the stamp that says this environment is whole; the last step of making it."""
        temporary = self._stamp.with_suffix(".new")
        with temporary.open("wb") as file:
            file.write(self._expected_stamp().encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._stamp)

    def discard(self) -> None:
        """Remove the folder, complete or not; the stamp goes first, so that a removal which is killed leaves none."""
        self._stamp.unlink(missing_ok=True)
        if self.directory.exists():
            shutil.rmtree(self.directory)

    def link_search_paths(self) -> None:
        """Let its Python find the search paths, and give it a ``rocmatrix`` command that uses them."""
        lines = "".join(f"{path}\n" for path in self.search_paths)
        (self.packages / "rocmatrix.pth").write_bytes(os.fsencode(lines))
        command = self.directory / "bin" / "rocmatrix"
        script = f'#!/bin/sh\nexec {shlex.quote(str(self.python))} -P -m rocmatrix "$@"\n'
        command.write_bytes(os.fsencode(script))
        command.chmod(0o755)

    def variables(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment variables of a program in this environment, as after activating it."""
        variables = inherited_variables() | {"VIRTUAL_ENV": str(self.directory)} | dict(extra or {})
        variables["PATH"] = f"{self.python.parent}{os.pathsep}{variables.get('PATH', os.defpath)}"
        return variables

    def become(self, module: str, arguments: Sequence[str], extra: Mapping[str, str] | None = None) -> NoReturn:
        """Turn this process into ``python -m module arguments`` of the environment; ``extra`` are more variables."""
        sys.stdout.flush()
        sys.stderr.flush()
        # -P: not the folder that the user is in, which may hold a module of the same name.
        os.execve(self.python, [str(self.python), "-P", "-m", module, *arguments], self.variables(extra))  # noqa: S606 - that is the point

    @property
    def _stamp(self) -> Path:
        return self.directory / "rocmatrix-environment.json"

    def _expected_stamp(self) -> str:
        digest = hashlib.sha256()
        for file in self.inputs:
            data = file.read_bytes()
            digest.update(f"{file.name} {len(data)}\n".encode())
            digest.update(data)
        content = {
            "format": _FORMAT,
            "inputs": f"sha256:{digest.hexdigest()}",
            "python": sysconfig.get_config_var("SOABI"),  # what wheels are built for: version, variant, machine
            "directory": str(self.directory),  # scripts in it name their Python by an absolute path
            "search-paths": [str(path) for path in self.search_paths],
        }
        return json.dumps(content, indent=2, sort_keys=True) + "\n"
