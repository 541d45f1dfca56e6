"""What signing and verifying are about: frozen values, and a protocol that other signers may implement."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

GITHUB_ISSUER = "https://token.actions.githubusercontent.com"
"""Issuer of the identity tokens of GitHub Actions, as certificates name it (``kernels`` 0.17.2, verify.py)."""


class SigningError(Exception):
    """No signature could be made; the message is one sentence that holds no secret.

    Attributes:
        passing: whether the same may work a moment later: a service did not answer.
    """

    def __init__(self, what: str, *, passing: bool = False) -> None:
        """Keep the sentence, and whether to try again."""
        super().__init__(what)
        self.passing = passing


@dataclass(frozen=True, kw_only=True)
class Signer:
    """Who signed, as a certificate says it.

    Attributes:
        name: a workflow file with its reference,
            ``https://github.com/acme/kernels/.github/workflows/release.yml@refs/tags/v1.2.0``, or an e-mail address.
        issuer: who vouched for the name, e.g. ``GITHUB_ISSUER``; ``""`` if the certificate does not say.
        sources: address of the repository whose run it was, ``https://github.com/acme/kernels``: of a reusable workflow
            not the one that the workflow file is in, but the one that called it; ``""`` if no certificate says.
    """

    name: str
    issuer: str
    sources: str = ""

    @property
    def was_called(self) -> bool:
        """Whether the workflow is of another repository than the one whose run it was."""
        return bool(self.sources) and not self.name.startswith(f"{self.sources}/")

    def __str__(self) -> str:
        """Return the name, who called it, and the issuer where it is not the one that such names have."""
        called = f" called by {self.sources}" if self.was_called else ""
        by = "" if self.issuer == GITHUB_ISSUER else f" (by {self.issuer or 'an unknown issuer'})"
        return f"{self.name}{called}{by}"


@dataclass(frozen=True, kw_only=True)
class SignerPolicy:
    """Whose signatures are wanted.

    Attributes:
        names: shell patterns over names of signers; ``*`` matches ``/`` too.
        issuer: who has to have vouched for the name: a certificate of another issuer may name anything.
        sources: address of the repository whose run it has to have been; ``None`` for that of the workflow file itself.
            Anybody may call a reusable workflow, and the certificate has the workflow's name then.
    """

    names: tuple[str, ...]
    issuer: str = GITHUB_ISSUER
    sources: str | None = None

    def accepts(self, signer: Signer) -> bool:
        """Return whether a signer is one of those."""
        named = signer.issuer == self.issuer and any(fnmatchcase(signer.name, name) for name in self.names)
        return named and (not signer.was_called if self.sources is None else signer.sources == self.sources)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a verification found.

    Attributes:
        signer: whom the certificate names; ``None`` where no certificate could be read.
        problem: why the signature is not good, one sentence; ``None`` if it is: made by the signer, of these bytes, and
            in the log.
        trust: which Sigstore was asked, for people.
    """

    signer: Signer | None
    problem: str | None
    trust: str


class MetadataSigner(Protocol):
    """Something that signs bytes as ``kernels verify-signature`` reads it."""

    def sign(self, content: bytes) -> bytes:
        """Return a Sigstore bundle for some bytes.

        Raises:
            SigningError: it cannot be made.
        """
