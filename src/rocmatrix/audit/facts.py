"""What readers found in a variant: frozen values that rules look at. Nothing here opens a file or judges.

The readers are ``variant`` and those in ``rocmatrix.binary``; the rules are in ``rules``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rocmatrix.audit.content_facts import Contents
from rocmatrix.binary.facts import Bundle, CodeObject, ElfFacts
from rocmatrix.digest import Digest
from rocmatrix.plan.audit_choice import AuditChoice
from rocmatrix.plan.model import Abi
from rocmatrix.records import Finding, Outcome, PayloadFile, Severity


@dataclass(frozen=True, kw_only=True)
class Binary:
    """One shared object.

    Attributes:
        path: relative to the variant, with ``/``.
        elf: what the loader reads.
        bundles: offload bundles in what the loader maps.
        code_objects: code objects that lie in its data outside of any bundle.
        size: bytes.
    """

    path: str
    elf: ElfFacts
    bundles: tuple[Bundle, ...]
    code_objects: tuple[CodeObject, ...] = ()
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class DeviceFile:
    """A file that holds GPU code and nothing else (``.hsaco``, ``.co``): bundles, or one code object.

    Attributes as those of ``Binary``.
    """

    path: str
    bundles: tuple[Bundle, ...] = ()
    code_objects: tuple[CodeObject, ...] = ()
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A file that could not be read as what it should be, and why."""

    path: str
    what: str


@dataclass(frozen=True, kw_only=True)
class VariantFile:
    """A regular file of a variant: path relative to it with ``/``, bytes, and the two forms of its digest.

    Attributes:
        digest: SHA-256 as records write it.
        client_digest: algorithm of ``metadata.json`` -> base64 as the ``kernels`` client writes it.
    """

    path: str
    size: int
    digest: Digest
    client_digest: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class MetadataFacts:
    """What ``metadata.json`` says, as far as rules look at it; ``archs`` is empty where the key is absent."""

    name: str
    id: str
    archs: tuple[str, ...]
    algorithm: str | None
    digests: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class OpsFacts:
    """What ``_ops.py`` says.

    Attributes:
        imports: modules that it imports from its own package.
        namespaces: the ``torch.ops`` namespaces that it names, sorted.
    """

    imports: tuple[str, ...]
    namespaces: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TorchAnswer:
    """What the libraries of a torch answered about the symbols that binaries ask of torch.

    Attributes:
        version: of that torch, e.g. ``2.13.0+rocm7.2``.
        libraries: whose exports were read, e.g. ``libc10.so``.
        lacking: path of a binary and a symbol that none of them has.
        unread: why they could not be asked, one sentence; ``None`` if they were.
    """

    version: str
    libraries: tuple[str, ...] = ()
    lacking: tuple[tuple[str, str], ...] = ()
    unread: str | None = None


@dataclass(frozen=True, kw_only=True)
class VariantFacts:
    """Everything that was read of a variant directory, or of a single shared object.

    Attributes:
        folder: whether this is a directory; a single shared object has no files, metadata or names around it.
        files: regular files that count for the client's digest.
        device_files: files of GPU code beside the shared objects.
        metadata: ``None`` if there is no ``metadata.json`` or it cannot be read.
        ops: ``None`` if there is no ``_ops.py`` or it cannot be read.
        strays: links out of the directory and things that are no files, as paths.
        refused: what is not even looked at because of its name, or because there is too much of it, and why.
        contents: what the bytes of its files say.
        torch: what the torch that it is meant for has of the symbols it asks for; ``None`` if no torch was read.
    """

    folder: bool
    files: tuple[VariantFile, ...] = ()
    binaries: tuple[Binary, ...] = ()
    device_files: tuple[DeviceFile, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    metadata: MetadataFacts | None = None
    ops: OpsFacts | None = None
    strays: tuple[str, ...] = ()
    refused: tuple[Unreadable, ...] = ()
    contents: Contents = field(default_factory=Contents)
    torch: TorchAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a variant was promised to be. ``None`` means that nobody promised anything about that.

    Attributes:
        name: name of the kernel, with dashes.
        variant: name of the directory that the client loads.
        abi: what the binary is bound to.
        archs: gfx archs that must be there.
        hip_soname: the HIP runtime's SONAME in the ROCm of the variant.
        extension: name of the extension module, e.g. ``_gemm_rocm_1a2b3c4d``.
        files: what the build says it made.
        torch: level of torch's stable ABI or torch minor, by ``abi``; likewise ``rocm``, the ROCm minor.
        choice: what the author asks of the audit in matrix.yaml.
        published: whether this was downloaded as a published kernel, which may be signed.
        backend: what it runs on, ``rocm`` unless its name says otherwise.
    """

    name: str | None = None
    variant: str | None = None
    abi: Abi | None = None
    archs: tuple[str, ...] | None = None
    hip_soname: str | None = None
    extension: str | None = None
    files: tuple[PayloadFile, ...] | None = None
    torch: str | None = None
    rocm: str | None = None
    choice: AuditChoice = field(default_factory=AuditChoice)
    published: bool = False
    backend: str = "rocm"

    @property
    def ours(self) -> bool:
        """Whether this is the payload of a build of ours, which becomes a variant only when it is collected."""
        return self.files is not None


def outcome(findings: tuple[Finding, ...]) -> Outcome:
    """Return how an audit with these findings ends: any error fails it."""
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    return Outcome.FAILED if failed else Outcome.PASSED
