"""Signatures of a release: made before anything is written, taken over from the Hub where they are good.

What is signed is ``metadata.json`` of each variant, whose digests cover the variant's other files; the bundle lies
beside it, where ``kernels verify-signature`` looks. Signatures are no part of what makes two releases the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.errors import ReleaseError
from rocmatrix.metadata import METADATA_NAME, SIGNATURE_NAME
from rocmatrix.release.content import Content
from rocmatrix.release.hub import TransientError
from rocmatrix.release.publication import Wanted
from rocmatrix.release.trees import BUILD, file_of
from rocmatrix.release.view import View
from rocmatrix.signatures.model import MetadataSigner, Signer, SigningError, Verdict

if TYPE_CHECKING:
    from sigstore.oidc import IdentityToken

Tell = Callable[[str], None]
Verify = Callable[[bytes, bytes], Verdict]
"""Takes a bundle and what it should sign."""


class SignMode(StrEnum):
    """Whether a release signs."""

    AUTO = "auto"
    """Where this is a CI job with an identity token."""
    NEVER = "never"
    REQUIRED = "required"


@dataclass(frozen=True, kw_only=True)
class Signing:
    """By whom and by what a release signs and verifies.

    Attributes:
        signer: ``None`` where nobody signs.
        named: the signer, as certificates will have it; ``None`` where that is not known beforehand.
        verify: verifies bundles that are there already.
    """

    signer: MetadataSigner | None
    named: Signer | None
    verify: Verify


def prepare_signing(mode: SignMode, trust: Path | None, tell: Tell) -> Signing | None:
    """Return how a release signs; ``None`` if it leaves signatures alone.

    Args:
        mode: what was asked for.
        trust: trust configuration of a private Sigstore; ``None`` for the public one.
        tell: called with the reason for which ``auto`` does not sign.

    Raises:
        ReleaseError: signatures are required, and this is no CI job with an identity token.
        InputError: the trust configuration is none.
        MissingRequirementError: the extra ``release`` is not installed.
    """
    if mode is SignMode.NEVER:
        return None
    from rocmatrix.signatures.keyless import KeylessSigner, signer_from  # noqa: PLC0415 - an extra
    from rocmatrix.signatures.trust import load_trust  # noqa: PLC0415
    from rocmatrix.signatures.verification import verify_bundle  # noqa: PLC0415

    identity = _identity(mode, tell)
    trusted = cache(lambda: load_trust(trust))  # the public one is asked for its newest keys: once, and only if needed
    if trust is not None:
        trusted()

    def verify(bundle: bytes, content: bytes) -> Verdict:
        return verify_bundle(bundle, content, trusted())

    if identity is None:
        return Signing(signer=None, named=None, verify=verify)
    return Signing(signer=KeylessSigner(identity, trusted()), named=signer_from(identity), verify=verify)


def _identity(mode: SignMode, tell: Tell) -> IdentityToken | None:
    """Return the identity of this CI job; where there is none, say so.

    Raises:
        ReleaseError: signatures are required, and there is none.
    """
    from rocmatrix.signatures.keyless import find_identity  # noqa: PLC0415 - an extra

    reason = "nothing here gives an identity token"
    try:
        if (identity := find_identity()) is not None:
            return identity
    except SigningError as err:
        reason = str(err)
    if mode is SignMode.REQUIRED:
        raise ReleaseError(
            f"signatures are required, and {reason}",
            where="--sign",
            fix="Release from a job with `permissions: id-token: write`, or say --sign auto.",
        )
    tell(f"variants are not signed: {reason}")
    return None


def sign_wanted(wanted: Wanted, view: View, signing: Signing, tell: Tell) -> Wanted:
    """Return what is to be released with its signatures; nothing is written yet, neither here nor on the Hub.

    A release that is there already is not signed again.

    Raises:
        ReleaseError: a signature cannot be made, or one in the output folder is not good.
    """
    references = view.look()
    if references and wanted.release.tag in references.tags:
        return wanted
    heads = [references.branches.get(name) for name in (wanted.staging, wanted.branch)] if references else []
    task = _Task(content=wanted.expectations.content, view=view, signing=signing, tell=tell)
    signed = task.run([head for head in heads if head])
    return replace(wanted, expectations=replace(wanted.expectations, content=signed))


@dataclass(frozen=True, kw_only=True)
class _Task:
    content: Content
    view: View
    signing: Signing
    tell: Tell

    def run(self, heads: Iterable[str]) -> Content:
        """Return the content with a signature beside each metadata that could be signed."""
        commits = tuple(heads)
        files = dict(self.content.files)
        made = 0
        for variant in self.content.variants:
            path = f"{BUILD}/{variant}/{SIGNATURE_NAME}"
            metadata = self.content.files[f"{BUILD}/{variant}/{METADATA_NAME}"].read()
            if path in files:
                self._require_good(path, files[path].read(), metadata)
                continue
            found = self._published(variant, path, metadata, commits)
            if found is None and self.signing.signer is not None:
                found = self._sign(variant, metadata, self.signing.signer)
                made += 1
            if found is not None:
                files[path] = file_of(found)
        if made:
            self.tell(f"signed {made} of {len(self.content.variants)} variants")
        return replace(self.content, files=files)

    def _require_good(self, path: str, bundle: bytes, metadata: bytes) -> None:
        """Refuse a signature that somebody put into the output folder and that is not good."""
        verdict = self.signing.verify(bundle, metadata)
        if verdict.problem is not None:
            raise ReleaseError(
                f"the signature is not good: {verdict.problem} ({verdict.trust})",
                where=path,
                fix="Remove it, or sign metadata.json again; nothing was written.",
            )
        self.tell(f"{path} was signed by {verdict.signer}, and is published as it is")

    def _published(self, variant: str, path: str, metadata: bytes, commits: Iterable[str]) -> bytes | None:
        """Return a good signature of this very metadata that the Hub has, by us where we can sign."""
        ours = self.content.files[f"{BUILD}/{variant}/{METADATA_NAME}"]
        for commit in commits:
            tree = self.view.tree(commit)
            if path not in tree or not ours.matches(tree.get(f"{BUILD}/{variant}/{METADATA_NAME}")):
                continue
            bundle = self.view.read(commit, path)
            verdict = self.signing.verify(bundle, metadata)
            if verdict.problem is not None:
                then = "a new one replaces it" if self.signing.signer else "nobody can sign here, and it stays"
                self.tell(f"the signature of {variant} on the Hub is not good: {verdict.problem}; {then}")
            elif self.signing.named and verdict.signer and verdict.signer != self.signing.named:
                self.tell(f"{variant} on the Hub was signed by {verdict.signer}, not by {self.signing.named}: replaced")
            else:
                if self.signing.named is None:  # there is nobody to compare with: people have to
                    why = "who signs here is not known" if self.signing.signer else "nobody can sign here"
                    self.tell(f"{variant} on the Hub was signed by {verdict.signer}; {why}, and it stays")
                return bundle
        return None

    def _sign(self, variant: str, metadata: bytes, signer: MetadataSigner) -> bytes:
        def attempt() -> bytes:
            try:
                return signer.sign(metadata)
            except SigningError as err:
                if err.passing:
                    raise TransientError(str(err)) from err
                raise ReleaseError(
                    f"it cannot be signed: {err}",
                    where=variant,
                    fix="Nothing was written. Say --sign never to release without signatures.",
                ) from err

        return self.view.persistence.ask(f"the signature of {variant}", attempt)
