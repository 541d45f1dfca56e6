"""Rule ``digests``: the files are the ones that the build recorded and that metadata vouches for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.records import Finding, Severity

RULE = "digests"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each file that build.json or metadata.json lacks, names in vain or knows with other bytes."""
    del policy
    if not facts.folder:
        return
    if expected.files is not None:
        recorded = {file.path: str(file.digest) for file in expected.files}
        found = {file.path: str(file.digest) for file in facts.files}
        yield from _compare(found, recorded, "build.json", "Build the unit again.")
    if facts.metadata is None:
        return
    algorithm = facts.metadata.algorithm
    if algorithm is None:
        yield _finding("metadata.json holds no digest of the files", "metadata.json: digest", "Collect it again.")
        return
    if algorithm not in {"sha256", "sha512"}:
        yield _finding(f"the client does not know the digest {algorithm!r}", "metadata.json: digest", "Use sha256.")
        return
    found = {file.path: file.client_digest[algorithm] for file in facts.files}
    yield from _compare(found, facts.metadata.digests, "metadata.json", "Collect the variant again, or download it.")


def _compare(found: Mapping[str, str], said: Mapping[str, str], by: str, fix: str) -> Iterator[Finding]:
    for path in sorted(found.keys() | said.keys()):
        if path not in said:
            yield _finding(f"{by} does not know the file {path}", path, fix)
        elif path not in found:
            yield _finding(f"{by} names the file {path}, which is not there", path, fix)
        elif found[path] != said[path]:
            yield _finding(f"{path} does not have the bytes that {by} speaks of", path, fix)


def _finding(what: str, where: str, fix: str) -> Finding:
    source = "digest of a variant as kernels 0.17.2 computes it"
    return Finding(rule=RULE, severity=Severity.ERROR, what=what, where=where, fix=fix, source=source)
