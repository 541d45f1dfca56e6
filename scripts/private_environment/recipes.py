"""The private environments of this repository, and where they are kept."""

from __future__ import annotations

import os
from pathlib import Path

from private_environment.display import Display
from private_environment.environment import PrivateEnvironment
from private_environment.lock import EnvironmentLock

_REQUIREMENTS = "requirements"
HOME_VARIABLE = "ROCMATRIX_ENVIRONMENTS"


def run_environment(repository: Path) -> PrivateEnvironment:
    """Return the environment of the main job: the package's dependencies and the embedded toolchain."""
    return _from_lock(repository, "run")


def test_environment(repository: Path) -> PrivateEnvironment:
    """Return the environment of tests and linters: that of the main job and the tools."""
    return _from_lock(repository, "test")


def torch_environment(repository: Path, below: PrivateEnvironment) -> PrivateEnvironment:
    """Return a CPU build of torch with what it asks for, on top of the packages of the environment ``below``."""
    from private_environment.cpu_torch import install_torch  # noqa: PLC0415 - build_matrix.py never needs it

    requirements = repository / _REQUIREMENTS
    lock, choice = requirements / "torch.txt", requirements / "torch.toml"
    return PrivateEnvironment(
        home=environments_home(repository),
        name="torch",
        inputs=[requirements / "pip.txt", lock, choice],
        search_paths=[repository / "src", below.packages],
        install=lambda environment, display, held: install_torch(environment, lock, choice, display, held),
    )


def environments_home(repository: Path) -> Path:
    """Return the folder that private environments are kept in."""
    return Path(os.environ.get(HOME_VARIABLE) or repository / ".rocmatrix").absolute()


def _from_lock(repository: Path, name: str) -> PrivateEnvironment:
    requirements = repository / _REQUIREMENTS
    lock = requirements / f"{name}.txt"

    def install(environment: PrivateEnvironment, display: Display, held: EnvironmentLock) -> None:
        from private_environment.preparation import install_lock  # noqa: PLC0415 - only where something is installed

        install_lock(lock, environment, display, held)

    return PrivateEnvironment(
        home=environments_home(repository),
        name=name,
        inputs=[requirements / "pip.txt", lock],
        search_paths=[repository / "src"],
        install=install,
    )
