"""The parts of the ``kernels`` client (0.17.2) that decide which variant a user gets; some are private to it."""

from kernels.backends import ROCm
from kernels.variants import _resolve_variant_for_system, parse_variant
from packaging.version import Version


def client_name(variant: str) -> str:
    """Return the name that the client prints for a variant that it has parsed; raises ``ValueError`` for others."""
    return str(parse_variant(variant).variant_str)


def client_choice(variants: list[str], *, torch: str, hip: str, cpu: str = "x86_64") -> str | None:
    """Return the variant that the client loads on Linux.

    Args:
        variants: names of directories below ``build/``, in any order.
        torch: minor of the installed torch.
        hip: ``torch.version.hip`` of that torch, e.g. ``7.2.53211-abc``; the client cuts it at the dash.
        cpu: ``platform.machine()``.
    """
    accepted, _ = _resolve_variant_for_system(
        variants=[parse_variant(variant) for variant in variants],
        selected_backend=ROCm(version=Version(hip.split("-", maxsplit=1)[0])),
        cpu=cpu,
        os="linux",
        torch_version=Version(torch),
        torch_cxx11_abi=True,
        tvm_ffi_version=None,
    )
    return str(accepted[0].variant_str) if accepted else None
