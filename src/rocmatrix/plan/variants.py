"""Names of build variants, exactly as the ``kernels`` client reads them (0.17.2, ``variants.py`` and ``backends.py``).

========== ============================================= ==========================================
what       name                                          example
========== ============================================= ==========================================
stable     ``torch-stable-abi<level>-rocm<rocm>-<cpu>-linux`` ``torch-stable-abi210-rocm72-x86_64-linux``
per torch  ``torch<torch>-cxx11-rocm<rocm>-<cpu>-linux``      ``torch213-cxx11-rocm72-x86_64-linux``
noarch     ``torch-rocm``                                 ``torch-rocm``
========== ============================================= ==========================================

Versions lose their dot. The client compares a ROCm variant with ``rocm<major><minor>`` of ``torch.version.hip`` as
strings, so that ``rocm714`` serves 7.14 although the client itself prints it as 71.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocmatrix.plan.model import Abi
from rocmatrix.plan.version import is_minor

NOARCH = "torch-rocm"

_STABLE = re.compile(r"torch-stable-abi([0-9]{2,5})-rocm([0-9]{2,6})-(x86_64|aarch64)-linux")
_OTHER_BACKEND = re.compile(
    r"torch-(cpu|cuda|metal|npu|neuron|tpu|xpu|universal)"
    r"|(?:torch|tvm-ffi)[a-z0-9-]*?-(cu|cpu|metal|cann|neuron|tpu|xpu)[0-9]*-(?:x86_64|aarch64)-(?:linux|darwin|windows)"
)
_PER_TORCH = re.compile(r"torch([0-9]{2,5})(?:-cxx11)?-rocm([0-9]{2,6})-(x86_64|aarch64)-linux")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a variant's name says.

    Attributes:
        torch: level of the stable ABI or torch minor, e.g. ``2.10``; ``None`` for noarch.
        rocm: ROCm minor, e.g. ``7.2``; ``None`` for noarch.
        cpu: ``x86_64`` or ``aarch64``; ``None`` for noarch.
    """

    abi: Abi
    torch: str | None = None
    rocm: str | None = None
    cpu: str | None = None


def variant_name(abi: Abi, *, torch: str | None = None, rocm: str | None = None, cpu: str = "x86_64") -> str:
    """Return the directory name below ``build/`` of a variant for Linux.

    Raises:
        ValueError: ``torch`` or ``rocm`` is missing or not a minor version, torch's major has more than one digit
            (the client reads exactly one), or they are given for noarch.

    Two ROCm versions may have one name (7.14 and 71.4); ``make_plan`` refuses a matrix with both.
    """
    if abi is Abi.NOARCH:
        if torch is not None or rocm is not None:
            raise ValueError("a noarch variant has no torch and no ROCm version")
        return NOARCH
    if torch is None or rocm is None or not is_minor(torch) or not is_minor(rocm):
        raise ValueError(f"{torch!r} and {rocm!r} are not minor versions of torch and ROCm")
    if torch.index(".") != 1:
        raise ValueError(f"the client reads one digit of torch's major version, not {torch!r}")
    digits, backend = torch.replace(".", ""), f"rocm{rocm.replace('.', '')}-{cpu}-linux"
    return f"torch-stable-abi{digits}-{backend}" if abi is Abi.STABLE else f"torch{digits}-cxx11-{backend}"


def parse_variant(name: str) -> Variant:
    """Return what the name of a ROCm variant says.

    A name has no dots, so that ``rocm714`` could be 7.14 and 71.4. The dot is put back behind one digit of ROCm's major
    version, or behind two if the first is 1: ``rocm714`` is 7.14 and ``rocm100`` is 10.0. That is the only reading for
    ROCm 5 to 9 and 10 to 19; torch's major version is one digit by the client's own rule.

    Raises:
        ValueError: the name is not one of a ROCm variant for Linux, or is of a ROCm beyond these, which could be two.
    """
    if name == NOARCH:
        return Variant(abi=Abi.NOARCH)
    for abi, pattern in ((Abi.STABLE, _STABLE), (Abi.PER_TORCH, _PER_TORCH)):
        if found := pattern.fullmatch(name):
            digits, rocm, cpu = found.groups()
            if rocm[0] not in "156789":
                raise ValueError(f"rocm{rocm} is of no ROCm from 5 to 19, and where its dot belongs cannot be told")
            return Variant(abi=abi, torch=_dotted(digits, 1), rocm=_dotted(rocm, 2 if rocm[0] == "1" else 1), cpu=cpu)
    raise ValueError(f"{name!r} is not the name of a ROCm variant for Linux")


def backend_of(name: str) -> str:
    """Return the backend that the name of a variant says, ``rocm`` where it says none that the client knows."""
    found = _OTHER_BACKEND.fullmatch(name)
    return (found[1] or found[2]) if found else "rocm"


def _dotted(digits: str, major: int) -> str:
    text = f"{digits[:major]}.{digits[major:]}"
    if not is_minor(text):
        raise ValueError(f"{digits!r} is not a version without its dot")
    return text
