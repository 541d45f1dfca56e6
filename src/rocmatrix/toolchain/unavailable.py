"""The toolchain that is not there: its units fail with the reason, and the units of other toolchains go on."""

from __future__ import annotations

from typing import NoReturn

from rocmatrix.errors import MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Unit
from rocmatrix.records import Gate, ToolchainIdentity
from rocmatrix.toolchain.interface import BuildRequest, Step


class UnavailableToolchain:
    """Answers every question with why it is not there.

    Args:
        error: what is missing, as a person should read it.
    """

    def __init__(self, error: MissingRequirementError) -> None:
        """Remember why."""
        self._error = error

    def identity(self) -> ToolchainIdentity:
        """Raise the error."""
        self._refuse()

    def objection(self, unit: Unit, manifest: Manifest) -> str | None:  # noqa: ARG002 - the protocol's arguments
        """Raise the error."""
        self._refuse()

    def steps(self, request: BuildRequest) -> tuple[Step, ...]:  # noqa: ARG002 - the protocol's argument
        """Raise the error."""
        self._refuse()

    def gates(self, request: BuildRequest) -> tuple[Gate, ...]:  # noqa: ARG002 - the protocol's argument
        """Raise the error."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._error
