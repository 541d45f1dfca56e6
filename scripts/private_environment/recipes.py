"""The private environments of this repository, and where they are kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from private_environment.cpu_torch import Wheel, install_torch
from private_environment.environment import PrivateEnvironment
from private_environment.preparation import install_lock

_REQUIREMENTS = "requirements"
HOME_VARIABLE = "ROCMATRIX_ENVIRONMENTS"


def run_environment(repository: Path) -> PrivateEnvironment:
    """Return the environment of the main job: the package's dependencies, the embedded toolchain and the emulator."""
    return _from_lock(repository, "run")


def test_environment(repository: Path) -> PrivateEnvironment:
    """Return the environment of tests and linters: that of the main job and the tools."""
    return _from_lock(repository, "test")


def named_environment(repository: Path, name: str) -> PrivateEnvironment:
    """Return the environment of a lock of ``requirements/`` by its name, e.g. ``release``."""
    return _from_lock(repository, name)


def torch_environment(repository: Path, below: PrivateEnvironment, find: Callable[[], Wheel]) -> PrivateEnvironment:
    """Return a CPU build of torch with what it asks for, on top of the packages of the environment ``below``.

    ``find`` tells the wheel; it is called where the environment has to be made, and only there.
    """
    requirements = repository / _REQUIREMENTS
    lock = requirements / "torch.txt"
    return PrivateEnvironment(
        home=environments_home(repository),
        name="torch",
        inputs=[requirements / "pip.txt", lock, torch_choice(repository)],
        search_paths=[repository / "src", below.packages],
        install=lambda environment, display, held: install_torch(environment, lock, find(), display, held),
    )


def torch_choice(repository: Path) -> Path:
    """Return the file that says which torch the tests take, and where it may come from."""
    return repository / _REQUIREMENTS / "torch.toml"


def environments_home(repository: Path) -> Path:
    """Return the folder that private environments are kept in."""
    return Path(os.environ.get(HOME_VARIABLE) or repository / ".rocmatrix").absolute()


def _from_lock(repository: Path, name: str) -> PrivateEnvironment:
    requirements = repository / _REQUIREMENTS
    lock = requirements / f"{name}.txt"
    return PrivateEnvironment(
        home=environments_home(repository),
        name=name,
        inputs=[requirements / "pip.txt", lock],
        search_paths=[repository / "src"],
        install=lambda environment, display, held: install_lock(lock, environment, display, held),
    )
