"""The torch headers of a run: asked for once for each torch, by the unit that needs them first, and shared by all."""

from __future__ import annotations

import threading
from pathlib import Path

from rocmatrix.digest import Digest
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Emit
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.torch_headers import TorchPin, pinned_headers
from rocmatrix.toolchain.torch_releases import release_headers, release_of

_Answer = tuple[Path, HeadersOrigin] | MissingRequirementError
_Torch = tuple[str, str] | None
"""Torch minor and ROCm minor; ``None`` for the torch of all stable-ABI units."""


class SharedHeaders:
    """Headers of torch, fetched on first use; safe to use from several threads."""

    def __init__(self, pin: TorchPin, *, cache: Path, emit: Emit) -> None:
        """Remember what to fetch for stable-ABI units and where to keep it; nothing is fetched yet."""
        self.pin = pin
        self._cache = cache
        self._emit = emit
        self._lock = threading.Lock()
        self._got: dict[_Torch, _Answer] = {}

    def cxx_standard(self, unit: Unit) -> str:
        """Return the C++ standard of a unit's binding: that of the torch whose headers it includes, e.g. ``c++20``.

        Raises:
            InputError: compat.toml does not know that torch.
        """
        torch = unit.torch if unit.abi is Abi.PER_TORCH and unit.torch else self.pin.version
        return load_compat().cxx_standard(".".join(torch.split(".")[:2]))

    def digest(self, unit: Unit) -> Digest | None:
        """Return the digest of the headers that a unit is compiled with; ``None`` if it needs none.

        Those of stable-ABI units are pinned, so that nothing is fetched for it; those of one torch are.

        Raises:
            MissingRequirementError: they cannot be had.
        """
        if unit.abi is Abi.STABLE:
            return self.pin.headers_digest
        return self.get(unit)[1].headers_digest if unit.abi is Abi.PER_TORCH else None

    def get(self, unit: Unit) -> tuple[Path, HeadersOrigin]:
        """Return the include folder for a unit that needs one, and its origin.

        Raises:
            MissingRequirementError: they cannot be had; another unit gets the same answer without a second attempt.
        """
        torch = (unit.torch, unit.rocm) if unit.abi is Abi.PER_TORCH and unit.torch and unit.rocm else None
        with self._lock:
            if torch not in self._got:
                self._got[torch] = self._ask(torch)
            got = self._got[torch]
        if isinstance(got, MissingRequirementError):
            raise got
        return got

    def _ask(self, torch: _Torch) -> _Answer:
        try:
            if torch is None:
                return pinned_headers(self.pin, cache=self._cache, emit=self._emit)
            return release_headers(release_of(torch[0]), torch[1], cache=self._cache, emit=self._emit)
        except MissingRequirementError as err:
            return err
        except InputError as err:  # a torch that this rocmatrix has no release of: units of other torches go on
            return MissingRequirementError(err.what, where=err.where, fix=err.fix)
