"""What the bytes and the Python sources of a variant say, as frozen values; nothing here opens a file or judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True)
class FoundSecret:
    """Bytes that look like a credential; of the credential itself no more than ``shown`` is kept.

    Attributes:
        path: file, relative to the variant; ``offset`` in bytes from its start.
        kind: what issues such credentials, e.g. ``GitHub token``.
        shown: its first characters, which are the same for all of this kind.
    """

    path: str
    offset: int
    kind: str
    shown: str


@dataclass(frozen=True, kw_only=True)
class FoundPath:
    """Paths of a build machine in a file: the first ``text``, where it is, and how many there are of its folder."""

    path: str
    offset: int
    text: str
    count: int


class Fp8Flavour(StrEnum):
    """The two number formats that share the name FP8: bias and NaN differ, so that the same byte is another number."""

    FNUZ = "FNUZ"
    OCP = "OCP"


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A line of a Python file that a rule has something to say about, and the words that are meant."""

    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class PythonFile:
    """What a Python source says, read without running it.

    Attributes:
        path: relative to the variant.
        problem: why it could not be parsed at all, one sentence; ``None`` if it was.
        newer: syntax that the lowest Python cannot parse or evaluates into an error.
        absolute: modules that it imports by their absolute name.
        namespaces: ``torch.ops`` namespaces and ``"namespace::op"`` texts that are written out.
        registered: names given to ``torch.library`` functions as they stand there, where they are written out.
        fp8: flavours of the torch dtypes that it names.
    """

    path: str
    problem: str | None = None
    newer: tuple[SourceLine, ...] = ()
    absolute: tuple[SourceLine, ...] = ()
    namespaces: tuple[SourceLine, ...] = ()
    registered: tuple[SourceLine, ...] = ()
    fp8: frozenset[Fp8Flavour] = frozenset()


class SignatureState(StrEnum):
    """What can be said of ``metadata.json.sigstore``."""

    ABSENT = "absent"
    MISSING = "missing"
    """There is none, and a signer was asked for."""
    UNREADABLE = "unreadable"
    OTHER_CONTENT = "of other content"
    """It signs bytes that are not those of ``metadata.json``."""
    PRESENT = "present"
    """It signs the bytes of ``metadata.json``; whether the signature is good and whose it is was not verified."""
    GOOD = "good"
    """It was verified, and is of the signer whom it names; of one of those who were asked for, if any were."""
    NOT_GOOD = "not good"
    OTHER_SIGNER = "good, of a signer who was not asked for"


@dataclass(frozen=True, kw_only=True)
class SignatureFacts:
    """State of the signature bundle.

    Attributes:
        detail: why it is unreadable, not good or not verified.
        signer: whom its certificate names.
        trust: which Sigstore verified it; ``""`` if none did.
    """

    state: SignatureState
    detail: str = ""
    signer: str = ""
    trust: str = ""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What was read of the bytes of a variant's files.

    Attributes:
        sizes: path of each file -> bytes.
        host_fp8: path of each shared object -> flavours of the torch dtypes whose names are in its bytes.
        unsearched: file and byte from which on no credentials and paths were looked for, as there was too much of them.
        signature: ``None`` where there is no directory around the file.
        metadata_problem: why the client refuses ``metadata.json``, one sentence; ``None`` if it does not.
    """

    sizes: tuple[tuple[str, int], ...] = ()
    secrets: tuple[FoundSecret, ...] = ()
    build_paths: tuple[FoundPath, ...] = ()
    python: tuple[PythonFile, ...] = ()
    host_fp8: tuple[tuple[str, frozenset[Fp8Flavour]], ...] = ()
    unsearched: tuple[tuple[str, int], ...] = ()
    signature: SignatureFacts | None = None
    metadata_problem: str | None = None
