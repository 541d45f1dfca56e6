"""Rule ``signature``: what is signed, if anything, is the metadata that lies beside the signature."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.content_facts import SignatureState
from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.metadata import METADATA_NAME, SIGNATURE_NAME
from rocmatrix.records import Finding, Severity

RULE = "signature"
_SOURCE = "kernels 0.17.2, verify_variant: the bundle signs the bytes of metadata.json, whose digests cover the rest"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """State whether a published variant is signed; a bundle that does not fit its metadata is an error."""
    del policy
    signature = facts.contents.signature
    if signature is None or expected.ours:
        return
    if signature.state is SignatureState.ABSENT:
        if expected.published:
            what = "it is not signed; the client loads it all the same"
            yield _finding(Severity.NOTE, what, "Sign metadata.json with `cosign sign-blob --bundle`.")
    elif signature.state is SignatureState.MISSING:
        what = "it is not signed, and a signer was asked for"
        yield _finding(
            Severity.ERROR, what, "Do not use it; whoever publishes it signs it (`rocmatrix release --sign`)."
        )
    elif signature.state is SignatureState.NOT_GOOD:
        what = f"the signature is not good: {signature.detail} ({signature.trust})"
        yield _finding(Severity.ERROR, what, "Do not use it; or name its Sigstore with --trust-config.")
    elif signature.state is SignatureState.OTHER_SIGNER:
        what = f"it was signed by {signature.signer}, which is none of the signers that were asked for"
        yield _finding(
            Severity.ERROR, what, "Do not use it, or give --signer another pattern or --signer-sources its repository."
        )
    elif signature.state is SignatureState.GOOD:
        what = f"it was signed by {signature.signer}, verified by {signature.trust}"
        yield _finding(Severity.NOTE, what, "Say with --signer who may have signed it.")
    elif signature.state is SignatureState.UNREADABLE:
        what = f"{SIGNATURE_NAME} is not a signature that can be verified: {signature.detail}"
        yield _finding(Severity.ERROR, what, "Sign the metadata again, or remove the file.")
    elif signature.state is SignatureState.OTHER_CONTENT:
        what = f"the signature is of other bytes than those of {METADATA_NAME}"
        yield _finding(Severity.ERROR, what, "Do not use it; whoever publishes it signs the metadata again.")
    else:
        by = f" by {signature.signer}" if signature.signer else ""
        why = f": {signature.detail}" if signature.detail else ""
        what = f"it holds a signature{by} of its metadata, which was not verified here{why}"
        yield _finding(Severity.NOTE, what, "Verify it with `rocmatrix verify`, or `kernels verify-signature`.")


def _finding(severity: Severity, what: str, fix: str) -> Finding:
    return Finding(rule=RULE, severity=severity, what=what, where=SIGNATURE_NAME, fix=fix, source=_SOURCE)
