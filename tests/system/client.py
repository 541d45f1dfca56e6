"""The private parts of the ``kernels`` client that the tests look into, all in this one module.

Everything here was read in ``kernels`` of the version ``PINNED``; ``test_client_adapter.py`` says so when another one
is installed. What is public (``get_local_kernel``) the tests call themselves.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from kernels._rust import Digest, DigestAlgorithm, DigestValidationError, Metadata
from kernels.backends import CPU, CUDA, ROCm
from kernels.variants import VariantRejected, _resolve_variant_for_system, parse_variant
from packaging.version import Version

PINNED = "0.17.2"


def installed() -> str:
    """Return the version of the client that these functions run."""
    return version("kernels")


@dataclass(frozen=True, kw_only=True)
class System:
    """A user's machine, as the client sees it.

    Attributes:
        torch: torch minor; ``None`` for a machine without torch.
        backend: ``rocm7.2`` (as ``torch.version.hip`` says it), ``cuda12.8`` or ``cpu``.
    """

    torch: str | None
    backend: str
    cpu: str = "x86_64"
    os: str = "linux"


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """Which variant the client would load, and why not each of the others that it rejects."""

    variant: str | None
    rejected: dict[str, str]


def resolve(variants: Iterable[str], system: System) -> Resolution:
    """Return what the client's resolver makes of variant names on a machine."""
    accepted, trace = _resolve_variant_for_system(
        variants=[parse_variant(name) for name in variants],
        selected_backend=_backend(system.backend),
        cpu=system.cpu,
        os=system.os,
        torch_version=Version(system.torch) if system.torch else None,
        torch_cxx11_abi=True if system.torch else None,
        tvm_ffi_version=None,
    )
    rejected = {item.variant.variant_str: item.reason for item in trace if isinstance(item, VariantRejected)}
    return Resolution(variant=accepted[0].variant_str if accepted else None, rejected=rejected)


def read_metadata(variant: Path) -> Metadata:
    """Return the client's reading of a variant's metadata; raises ``ValueError`` if it refuses it."""
    return Metadata.read_from_file(variant / "metadata.json")


def digest_violations(variant: Path) -> list[str]:
    """Return how the files of a variant differ from the digest in its metadata, as the client sees it."""
    stated = read_metadata(variant).digest
    if stated is None:
        return ["metadata.json states no digest"]
    try:
        stated.validate(Digest.hash_variant(DigestAlgorithm.SHA256, variant))
    except DigestValidationError as err:
        return [str(violation) for violation in err.violations]
    return []


def _backend(name: str) -> CPU | CUDA | ROCm:
    if name.startswith("rocm"):
        return ROCm(version=Version(name.removeprefix("rocm")))
    if name.startswith("cuda"):
        return CUDA(version=Version(name.removeprefix("cuda")))
    assert name == "cpu", name
    return CPU()
