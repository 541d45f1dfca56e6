"""Whether a bundle is a good signature of some bytes, and whose: by the library that the ``kernels`` client uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmatrix.signatures.model import Signer, Verdict
from rocmatrix.signatures.trust import Trust

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_ISSUER = "1.3.6.1.4.1.57264.1.1"
"""Fulcio's extension for the issuer, raw text (sigstore/fulcio, docs/oid-info.md); the next is its successor."""
_ISSUER_V2 = "1.3.6.1.4.1.57264.1.8"
_SOURCES = "1.3.6.1.4.1.57264.1.12"
"""The extension "Source Repository URI", a DER UTF8String as ``_ISSUER_V2`` is (the same document)."""
_UTF8_STRING, _LONG = 0x0C, 0x80


class _Anybody:
    """A policy that accepts every signer: whom to trust is decided with ``SignerPolicy``, by the name that is shown."""

    def verify(self, cert: Certificate) -> None:
        """Accept."""


def verify_bundle(bundle: bytes, content: bytes, trust: Trust) -> Verdict:
    """Verify a bundle: certificate, its log, entry in the transparency log, signature, and that it is of these bytes.

    Args:
        bundle: ``metadata.json.sigstore``.
        content: ``metadata.json``.
        trust: which Sigstore.
    """
    from sigstore.errors import Error  # noqa: PLC0415 - heavy
    from sigstore.models import Bundle  # noqa: PLC0415
    from sigstore.verify import Verifier  # noqa: PLC0415

    signer = None
    try:
        parsed = Bundle.from_json(bundle)
        signer = signer_of(parsed.signing_certificate)
        Verifier(trusted_root=trust.config.trusted_root).verify_artifact(content, parsed, _Anybody())
    except Error as err:
        return Verdict(signer=signer, problem=_sentence(err), trust=trust.name)
    except Exception as err:  # noqa: BLE001 - anybody's bytes: what the libraries below do with them is no bug of ours
        return Verdict(signer=signer, problem=f"it cannot be read: {_sentence(err)}", trust=trust.name)
    return Verdict(signer=signer, problem=None, trust=trust.name)


def signer_of(certificate: Certificate) -> Signer:
    """Return whom a certificate of Fulcio names.

    Raises:
        ValueError: it names nobody.
    """
    from cryptography import x509  # noqa: PLC0415 - heavy

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    plain = (*names.get_values_for_type(x509.UniformResourceIdentifier), *names.get_values_for_type(x509.RFC822Name))
    if len(plain) != 1:
        raise ValueError(f"its certificate names {len(plain)} signers instead of one")
    found = {
        extension.oid.dotted_string: extension.value.value
        for extension in certificate.extensions
        if isinstance(extension.value, x509.UnrecognizedExtension)
    }
    issuer = _text(found[_ISSUER_V2]) if _ISSUER_V2 in found else found.get(_ISSUER, b"").decode("utf-8")
    sources = _text(found[_SOURCES]) if _SOURCES in found else ""
    return Signer(name=plain[0], issuer=issuer, sources=sources)


def _text(encoded: bytes) -> str:
    """Return what a DER UTF8String holds (ITU-T X.690, 8.1.3).

    Raises:
        ValueError: it is none.
    """
    size = encoded[1] & ~_LONG if len(encoded) > 1 and encoded[1] & _LONG else 0
    content = encoded[2 + size :]
    length = int.from_bytes(encoded[2 : 2 + size], "big") if size else (encoded[1] if len(encoded) > 1 else -1)
    if encoded[:1] != bytes([_UTF8_STRING]) or length != len(content):
        raise ValueError("an extension of its certificate is no text")
    return content.decode("utf-8")


def _sentence(err: Exception) -> str:
    return (str(err).strip().partition("\n")[0] or type(err).__name__)[:200]
