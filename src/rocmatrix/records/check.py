"""What a check leaves: ``check.json``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.digest import Digest
from rocmatrix.plain_text import bounded
from rocmatrix.plan.model import CellId, UnitId
from rocmatrix.records.audit import KernelFinding
from rocmatrix.records.common import RECORD_SCHEMA, Outcome


class Tested(StrEnum):
    """What produced a result. ``emulated`` is never reported as a run on a GPU."""

    MI300X = "mi300x"
    OTHER_GPU = "other gpu"
    EMULATED = "emulated"
    UNTESTED = "untested"


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One numerical case: its largest errors against the float64 reference, and whether they are within tolerance.

    Attributes:
        passed: whether every element is within tolerance and nothing was found wrong with the kernels.
        seconds: wall time, inputs and reference included.
        detail: the share within tolerance and the first element that is not, or why there are no numbers.
        share: of the elements that are within tolerance, 0 to 1; the least one if several results were compared.
        launches: kernel launches of all calls of the case; likewise ``instructions``, executed by all waves together.
        matrix: arithmetic of matrix instructions, ``fast`` or ``exact``; ``""`` on a GPU.
        findings: what detectors found in the kernels, the same thing once for each instruction.
        repeated: times that it ran again in other orders of workgroups and waves, with loads that arrive late and
            approximations at the ends of what is documented.
        dependences: what the repetitions showed: that the result depends on the order, or on the last bit of an
            approximation.
    """

    case: str
    passed: bool
    max_abs_error: float
    max_rel_error: float
    seconds: float
    detail: str = ""
    share: float = 0.0
    launches: int = 0
    instructions: int = 0
    matrix: str = ""
    findings: tuple[KernelFinding, ...] = ()
    repeated: int = 0
    dependences: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GpuRun:
    """On which GPU, in which image and with which torch cases ran.

    Attributes:
        name: of the GPU as torch has it.
        product: by its PCI device id; ``""`` for one that is not known.
        arch: ``gcnArchName`` with its features, e.g. ``gfx942:sramecc+:xnack-``.
        memory: bytes.
        driver: its version, or that of the kernel that it is part of.
        torch: ``torch.__version__``; ``hip`` is ``torch.version.hip``.
        cell: the promise that this torch, ROCm and GPU are.
        image: as it was named.
        image_id: digest of its configuration.
        pushed: ``repository@sha256:…`` names that registries know it by.
    """

    name: str
    product: str
    arch: str
    memory: int
    driver: str
    torch: str
    hip: str
    cell: CellId
    image: str
    image_id: str
    pushed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """``check.json``: whether the numbers are right, and what computed them.

    Attributes:
        tested: what executed the kernel; ``untested`` if nothing did.
        reason: for ``untested``, why; else which device or which mode of the emulator.
        cases: results in the order of ``tests/cases.py``; empty for ``untested``.
        left_out: names of the cases that a budget left out, or that were not reached.
        device: profile of the device that the emulator's runtime plays, e.g. ``mi300x-cpx``; ``""`` for ``untested``.
        seed: what the random inputs began with (``--seed``); 0 for those of the cases' own seeds.
        detectors: what was looked for in the kernels beside wrong numbers.
        gpu: what a GPU's run was on; ``None`` for all else.
    """

    schema: int = RECORD_SCHEMA
    unit: UnitId
    inputs_digest: Digest
    artifact_digest: Digest
    outcome: Outcome
    rocmatrix: str
    started: str
    seconds: float
    tested: Tested
    reason: str
    cases: tuple[CaseResult, ...]
    left_out: tuple[str, ...] = ()
    device: str = ""
    seed: int = 0
    detectors: tuple[str, ...] = ()
    gpu: GpuRun | None = None


def contradiction(record: CheckRecord) -> str | None:
    """Return what a record of a check that passed says against itself, or ``None``.

    Records come from machines that only check: one that claims more than it shows must not count. A failure counts
    whatever else its record says.
    """
    if record.outcome is Outcome.FAILED:
        return None
    executed, on_gpu = record.tested is not Tested.UNTESTED, record.tested in {Tested.MI300X, Tested.OTHER_GPU}
    odd = (
        (executed and not record.cases, f"it passed as {record.tested} without a case"),
        (record.cases and not executed, "it has cases, and nothing executed them"),
        (on_gpu and record.gpu is None, f"it is of {record.tested}, and no GPU is named"),
        (record.gpu is not None and not on_gpu, f"it is of {record.tested}, and names a GPU"),
        *(
            (not case.passed or case.findings, f"it passed, and its case {bounded(case.case)} did not")
            for case in record.cases
        ),
    )
    return next((said for holds, said in odd if holds), None)
