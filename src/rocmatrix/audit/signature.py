"""Reader of ``metadata.json.sigstore``: whether it is a Sigstore bundle and which bytes it signs.

The ``kernels`` client does not ask for a signature when it loads a kernel; ``kernels verify-signature`` does, and so
does ``verify_signature`` here where somebody can verify. Without that, what a bundle says about itself is compared with
the file beside it.

Layout: Sigstore's bundle format, ``application/vnd.dev.sigstore.bundle`` 0.1 to 0.3 (``sigstore_bundle.proto``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocmatrix.audit.content_facts import SignatureFacts, SignatureState
from rocmatrix.metadata import METADATA_NAME, SIGNATURE_NAME
from rocmatrix.signatures.model import SignerPolicy, Verdict

MAX_BUNDLE = 1 << 20
"""Bytes of a bundle that are read at most; real ones have about 10,000."""
MAX_METADATA = 1 << 24
"""Bytes of metadata.json that are hashed at most."""

_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle"
_SAN_URI = 0x86
"""Tag of a ``uniformResourceIdentifier`` in a certificate's subject alternative name (RFC 5280, 4.2.1.6)."""
_LONG_FORM = 0x81


class _Raw(msgspec.Struct, rename="camel"):
    raw_bytes: str = ""


class _Chain(msgspec.Struct):
    certificates: list[_Raw] = []


class _Material(msgspec.Struct, rename="camel"):
    certificate: _Raw | None = None
    x509_certificate_chain: _Chain | None = None


class _MessageDigest(msgspec.Struct):
    algorithm: str
    digest: str


class _MessageSignature(msgspec.Struct, rename="camel"):
    message_digest: _MessageDigest
    signature: str


class _Bundle(msgspec.Struct, rename="camel"):
    media_type: str
    verification_material: _Material
    message_signature: _MessageSignature | None = None


def read_signature(folder: Path) -> SignatureFacts:
    """Return what the signature bundle of a variant says about itself."""
    path = folder / SIGNATURE_NAME
    if not path.is_symlink() and not path.exists():
        return SignatureFacts(state=SignatureState.ABSENT)
    try:
        bundle = msgspec.json.decode(_bounded(path, folder, MAX_BUNDLE), type=_Bundle)
        signed = _signed_digest(bundle)
        own = hashlib.sha256(_bounded(folder / METADATA_NAME, folder, MAX_METADATA)).digest()
    except (OSError, ValueError, RecursionError) as err:
        return SignatureFacts(state=SignatureState.UNREADABLE, detail=_plain(err))
    state = SignatureState.PRESENT if signed == own else SignatureState.OTHER_CONTENT
    return SignatureFacts(state=state, signer=_signer(bundle.verification_material))


@dataclass(frozen=True, kw_only=True)
class SignatureCheck:
    """Who verifies signatures, and whose are wanted.

    Attributes:
        verify: takes a bundle and what it should sign.
        wanted: ``None`` where anybody's will do.
    """

    verify: Callable[[bytes, bytes], Verdict]
    wanted: SignerPolicy | None


def verify_signature(folder: Path, read: SignatureFacts, check: SignatureCheck) -> SignatureFacts:
    """Return what is to be said of a variant's signature once it was verified.

    Args:
        folder: the variant.
        read: what the bundle says about itself.
        check: who verifies, and whose signature is wanted.
    """
    if read.state is SignatureState.ABSENT and check.wanted is not None:
        return SignatureFacts(state=SignatureState.MISSING)
    if read.state is not SignatureState.PRESENT:
        return read
    bundle = _bounded(folder / SIGNATURE_NAME, folder, MAX_BUNDLE)
    verdict = check.verify(bundle, _bounded(folder / METADATA_NAME, folder, MAX_METADATA))
    signer = str(verdict.signer or "")
    if verdict.problem is not None or verdict.signer is None:
        detail = verdict.problem or "it names no signer"
        return SignatureFacts(state=SignatureState.NOT_GOOD, detail=detail, signer=signer, trust=verdict.trust)
    good = check.wanted is None or check.wanted.accepts(verdict.signer)
    state = SignatureState.GOOD if good else SignatureState.OTHER_SIGNER
    return SignatureFacts(state=state, signer=signer, trust=verdict.trust)


def _signed_digest(bundle: _Bundle) -> bytes:
    """Return the SHA-256 of the bytes that a bundle signs; raises ``ValueError`` if it signs none in that way."""
    if not bundle.media_type.startswith(_MEDIA_TYPE):
        raise ValueError(f"it says that it is {bundle.media_type[:80]!r}, not a Sigstore bundle")
    if bundle.message_signature is None or not bundle.message_signature.signature:
        raise ValueError("it holds no signature of a file")
    digest = bundle.message_signature.message_digest
    if digest.algorithm != "SHA2_256":
        raise ValueError(f"it signs a digest of the kind {digest.algorithm[:40]!r}, not SHA2_256")
    return base64.b64decode(digest.digest, validate=True)


def _bounded(path: Path, folder: Path, limit: int) -> bytes:
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError(f"{path.name} is not a regular file of the directory")
    with path.open("rb") as stream:
        text = stream.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"{path.name} is larger than {limit} bytes")
    return text


def _plain(err: OSError | ValueError | RecursionError) -> str:
    return err.strerror or "it cannot be read" if isinstance(err, OSError) else str(err)[:200]


def _signer(material: _Material) -> str:
    """Return the workflow that the signing certificate names; ``""`` if it names none. Nothing proves it here."""
    chain = material.x509_certificate_chain
    leaf = material.certificate or (chain.certificates[0] if chain and chain.certificates else None)
    try:
        certificate = base64.b64decode(leaf.raw_bytes if leaf else "", validate=True)
    except (binascii.Error, ValueError):
        return ""
    place = certificate.find(b"https://")
    while place > 0:
        length = certificate[place - 1]
        tag = certificate[place - 2] if place > 1 else 0
        if tag == _LONG_FORM and place > 2:  # noqa: PLR2004 - tag, mark of the long form, length
            tag = certificate[place - 3]
        text = certificate[place : place + length]
        if tag == _SAN_URI and len(text) == length and text.isascii() and text.decode().isprintable():
            return text.decode()
        place = certificate.find(b"https://", place + 1)
    return ""
