"""The torch headers of a run: asked for once by whichever unit needs them first, and shared by all."""

from __future__ import annotations

import threading
from pathlib import Path

from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.torch_headers import TorchPin, pinned_headers


class SharedHeaders:
    """The headers of one torch, fetched on first use; safe to use from several threads."""

    def __init__(self, pin: TorchPin, *, cache: Path, emit: Emit) -> None:
        """Remember what to fetch and where to keep it; nothing is fetched yet."""
        self.pin = pin
        self._cache = cache
        self._emit = emit
        self._lock = threading.Lock()
        self._got: tuple[Path, HeadersOrigin] | MissingRequirementError | None = None

    def cxx_standard(self, unit: Unit) -> str:
        """Return the C++ standard of a unit's binding: that of the torch whose headers it includes, e.g. ``c++20``.

        Raises:
            InputError: compat.toml does not know that torch.
        """
        torch = unit.torch if unit.abi is Abi.PER_TORCH and unit.torch else self.pin.version
        return load_compat().cxx_standard(".".join(torch.split(".")[:2]))

    def get(self) -> tuple[Path, HeadersOrigin]:
        """Return the include folder and its origin.

        Raises:
            MissingRequirementError: they cannot be had; a second unit gets the same answer without a second attempt.
        """
        with self._lock:
            if self._got is None:
                try:
                    self._got = pinned_headers(self.pin, cache=self._cache, emit=self._emit)
                except MissingRequirementError as err:
                    self._got = err
            if isinstance(self._got, MissingRequirementError):
                raise self._got
            return self._got
