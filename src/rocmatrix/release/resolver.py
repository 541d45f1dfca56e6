"""Which variant a user's client chooses: the resolver of the ``kernels`` client itself.

The only module that touches the private parts of that package; they were read in the version ``PINNED``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING

from rocmatrix.errors import MissingRequirementError

if TYPE_CHECKING:
    from kernels.variants import Variant

PINNED = "0.17.2"
_INSTALL = "Install it with: pip install 'rocmatrix[release]'"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A user's machine, as the client sees it.

    Attributes:
        torch: torch minor.
        rocm: ROCm minor as ``torch.version.hip`` says it.
        cpu: as ``platform.machine`` says it.
        os: ``linux``.
    """

    torch: str
    rocm: str
    cpu: str = "x86_64"
    os: str = "linux"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the client makes of a set of variants.

    Attributes:
        variant: the one that it loads; ``None`` if it loads none.
        rejected: variant -> why not, in the client's words.
    """

    variant: str | None
    rejected: Mapping[str, str]


def require_client() -> None:
    """Refuse to go on without the client, or with another version than the one whose private parts are known.

    Raises:
        MissingRequirementError: with what to install.
    """
    try:
        found = metadata.version("kernels")
    except metadata.PackageNotFoundError as err:
        raise MissingRequirementError("the kernels client is not installed", fix=_INSTALL) from err
    if found != PINNED:
        raise MissingRequirementError(
            f"kernels {found} is installed, and its resolver was only read in {PINNED}", fix=_INSTALL
        )


def choose(variants: Iterable[str], machine: Machine) -> Choice:
    """Return which of these variants the client loads on a machine, and why not each other one."""
    from kernels.backends import ROCm  # noqa: PLC0415 - an extra, and slow to import
    from kernels.variants import VariantRejected, _resolve_variant_for_system  # noqa: PLC0415 - as above
    from packaging.version import Version  # noqa: PLC0415 - what the client compares with

    accepted, trace = _resolve_variant_for_system(
        variants=[variant for name in variants if (variant := _parsed(name)) is not None],
        selected_backend=ROCm(version=Version(machine.rocm)),
        cpu=machine.cpu,
        os=machine.os,
        torch_version=Version(machine.torch),
        torch_cxx11_abi=True,
        tvm_ffi_version=None,
    )
    rejected = {each.variant.variant_str: each.reason for each in trace if isinstance(each, VariantRejected)}
    return Choice(variant=accepted[0].variant_str if accepted else None, rejected=rejected)


@lru_cache(maxsize=4096)
def _parsed(name: str) -> Variant | None:
    """Return a variant by its name, which every machine is held against; ``None`` for what is no variant's name.

    The client warns of such a name, and goes on without it.
    """
    from kernels.variants import parse_variant  # noqa: PLC0415 - as above

    try:
        return parse_variant(name)
    except ValueError:
        return None
