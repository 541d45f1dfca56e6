"""Records: the JSON files in which stages say what they did.

A record names the digest of its inputs and the digest of the artifact that it speaks of. The store hands a record out
only if it parses and its artifact is the one that lies beside it; all else counts as absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.binary.summary import BinaryFacts as BinaryFacts  # noqa: PLC0414 - part of the record
from rocmatrix.binary.summary import DeviceFileFacts as DeviceFileFacts  # noqa: PLC0414 - as above
from rocmatrix.digest import Digest
from rocmatrix.plan.model import CellId, UnitId

RECORD_SCHEMA = 1


class Outcome(StrEnum):
    """How a stage ended for one unit."""

    PASSED = "passed"
    FAILED = "failed"


class Isolation(StrEnum):
    """Where a build ran: promise 5 of the design."""

    CONTAINER = "container"
    HOST = "host"


class Tested(StrEnum):
    """What produced a result. ``emulated`` is never reported as a run on a GPU."""

    MI300X = "mi300x"
    OTHER_GPU = "other gpu"
    EMULATED = "emulated"
    UNTESTED = "untested"


class Severity(StrEnum):
    """How bad a finding is: errors fail the unit, warnings do not; a note only states something."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """What could not be verified, or is neither good nor bad, such as a missing signature."""


@dataclass(frozen=True, kw_only=True)
class ToolchainIdentity:
    """What a toolchain turned out to be once it was resolved.

    Attributes:
        recipe: as in the toolchain's spec.
        description: for people and for ``metadata.json``: which compiler, and whose it is.
        compilers: name of each tool -> its version, e.g. ``{"clang": "22.1.8", "ziglang": "0.17.1"}``.
        recipe_digest: digest of the recipe's own files (stub sources, headers, flags).
        image_digest: digest of the container image; ``None`` on the host.
    """

    recipe: str
    description: str
    compilers: dict[str, str]
    recipe_digest: Digest
    image_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class HeadersOrigin:
    """Where the torch headers of a build came from.

    Attributes:
        torch: version of the wheel, e.g. ``2.13.0`` (or with a local part, ``2.13.0+cpu``).
        wheel: file name of the wheel.
        wheel_digest: digest of the whole wheel as the package index states it, ``""`` if it states none; checked only
            when the whole wheel was fetched.
        headers_digest: digest of the header files that were used, names and contents.
        transferred: bytes fetched to get them; 0 when they came from the cache.
        how: ``range requests``, ``whole wheel``, ``local wheel`` or ``cache``.
        hip: ROCm minor as ``torch.version.hip`` of this wheel says it, e.g. ``7.2``; ``None`` if the wheel says none:
            then it is promised by compat.toml, not read, that a torch for the unit's ROCm has these headers.
    """

    torch: str
    wheel: str
    wheel_digest: str
    headers_digest: Digest
    transferred: int
    how: str
    hip: str | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One thing that was tried on a fresh build before it was accepted.

    Attributes:
        name: e.g. ``no-cxx-runtime-inside``, ``loads``, ``error-message``.
        passed: whether it held.
        detail: what was seen.
    """

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class PayloadFile:
    """One file of a payload: path relative to it with ``/``, bytes, digest."""

    path: str
    size: int
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class InputDigests:
    """The parts of a build's inputs, so that a later run can say which of them changed.

    Attributes:
        sources: build.toml and every file that the build may read.
        unit: what the plan asks for: variant, ABI, torch, ROCm, gfx archs.
        toolchain: the toolchain's identity; ``None`` for noarch, or if it could not be resolved.
        headers: the torch headers; ``None`` if the unit needs none.
        recipe: what rocmatrix itself adds: its recipe version, the C++ standard and the files that it generates.
    """

    sources: Digest
    unit: Digest
    toolchain: Digest | None
    headers: Digest | None
    recipe: Digest


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """``build.json``: how a payload was made, or why it was not.

    Attributes:
        inputs_digest: of everything that decides the payload's bytes: sources, unit, toolchain identity, headers,
            recipe.
        artifact_digest: of the payload folder; ``None`` if the build failed.
        uid: 8 hexadecimal digits that name the extension, and the namespace of its ops, in this kernel's variants.
        started: UTC, ISO 8601.
        seconds: wall time of the build.
        files: what the payload holds.
        error: the compiler's own first error with file and line, or the gate that failed; ``None`` if it passed.
        error_code: the exit code that this failure ends a run with (4 build, 3 environment); 0 if it passed.
        inputs: the parts that ``inputs_digest`` is made of; ``None`` if they are not known.
    """

    schema: int = RECORD_SCHEMA
    unit: UnitId
    inputs_digest: Digest
    artifact_digest: Digest | None
    outcome: Outcome
    rocmatrix: str
    uid: str
    toolchain: ToolchainIdentity | None
    isolation: Isolation
    headers: HeadersOrigin | None
    gates: tuple[Gate, ...]
    started: str
    seconds: float
    files: tuple[PayloadFile, ...]
    error: str | None = None
    error_code: int = 0
    inputs: InputDigests | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that an audit rule says about a unit.

    Attributes:
        rule: id of the rule, e.g. ``archs``, ``version-ceilings``.
        severity: whether it fails the unit.
        what: one sentence.
        where: path within the variant, with the symbol or section where there is one.
        fix: what to do.
        source: where the limit comes from.
    """

    rule: str
    severity: Severity
    what: str
    where: str
    fix: str
    source: str


@dataclass(frozen=True, kw_only=True)
class WaivedFinding:
    """A finding that is not held against the unit because its author waived it.

    Attributes:
        reason: the author's words.
        waiver: where in matrix.yaml the waiver stands.
    """

    finding: Finding
    reason: str
    waiver: str


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """``audit.json``: what the binary really is."""

    schema: int = RECORD_SCHEMA
    unit: UnitId
    inputs_digest: Digest
    artifact_digest: Digest
    outcome: Outcome
    rocmatrix: str
    started: str
    seconds: float
    rules: tuple[str, ...]
    binaries: tuple[BinaryFacts, ...]
    findings: tuple[Finding, ...]
    device_files: tuple[DeviceFileFacts, ...] = ()
    waived: tuple[WaivedFinding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KernelFinding:
    """One thing that a kernel did wrong while a case ran, whatever its numbers were.

    Attributes:
        kind: what kind of wrong, e.g. ``missing wait``, ``hazard``, ``race``, ``never written``.
        kernel: its name in the code object.
        text: the whole sentence, with instruction, wave, lane and address where there are any.
        instruction: the instruction with its address; ``None`` if it is no single one.
    """

    kind: str
    kernel: str
    text: str
    instruction: str | None = None


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


@dataclass(frozen=True, kw_only=True)
class CellCoverage:
    """How one cell reaches its users.

    Attributes:
        variant: the variant that serves the cell; ``None`` if none does.
        tested: how that variant was tested.
        reason: why the cell is not served, or what tested it.
    """

    cell: CellId
    variant: str | None
    tested: Tested
    reason: str


@dataclass(frozen=True, kw_only=True)
class CollectedVariant:
    """One directory of the set to publish: its variant, the unit it came from, artifact digest and size in bytes."""

    variant: str
    unit: UnitId
    artifact_digest: Digest
    size: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """``coverage.json``: every promised cell of one kernel, and what keeps the promise."""

    schema: int = RECORD_SCHEMA
    kernel: str
    rocmatrix: str
    complete: bool
    variants: tuple[CollectedVariant, ...]
    cells: tuple[CellCoverage, ...]
