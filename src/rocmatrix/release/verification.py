"""Before users can load it: what was committed is fetched anew and held against what was meant."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import ReleaseError
from rocmatrix.plan.model import Plan
from rocmatrix.release.content import Content
from rocmatrix.release.serving import Pair, dropped, misserved
from rocmatrix.release.trees import compare, file_on_disk, is_signature, variants_of
from rocmatrix.release.view import View


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What a revision is held against.

    Attributes:
        content: the published set.
        plan: the promises.
        pairs: every torch and ROCm that users may have.
        drop: pairs that may be lost, by name.
    """

    content: Content
    plan: Plan
    pairs: tuple[Pair, ...]
    drop: frozenset[str]


def verify(view: View, commit: str, expectations: Expectations) -> None:
    """Hold a commit against what it is meant to be.

    The committed tree is compared, every published file is downloaded anew and hashed, and the real client's resolver
    has to serve every promised cell as planned, with all variants that are there.

    Raises:
        ReleaseError: with the first thing that is wrong.
    """
    content, tree = expectations.content, view.tree(commit)
    where = f"{view.repository} at {commit[:12]}"
    difference = compare(content.files, tree, inside=content.variants)
    if difference:
        raise ReleaseError(f"the staged commit {difference}", where=where, fix="Run the same release again.")
    plain = [path for path in content.files if path.endswith(".so") and tree[path].sha256 is None]
    if plain:  # a repository that has binaries in git grows by each release for ever
        raise ReleaseError(
            f"{plain[0]} was committed into git and not into LFS",
            where=where,
            fix="The repository's .gitattributes has to put *.so into LFS; look for a line that takes it out again.",
        )
    _verify_bytes(view, commit, content)
    wrong = misserved(expectations.plan, content.kernel.name, variants_of(tree))
    if wrong:
        if any(each.shadowed for each in wrong):
            fix = "A variant that is not ours shadows it: agree with its owner, or change the promise in matrix.yaml."
        else:
            fix = "Run `rocmatrix run` until every promised cell is served, or exclude the cell in matrix.yaml."
        raise ReleaseError(
            f"users would not get what was made for them: {'; '.join(str(each) for each in wrong[:3])}",
            where=where,
            fix=fix,
        )


def _verify_bytes(view: View, commit: str, content: Content) -> None:
    with tempfile.TemporaryDirectory(prefix="rocmatrix-verify-") as folder:
        view.download(commit, content.files, Path(folder))
        for path, wanted in content.files.items():
            fetched = Path(folder) / path
            found = file_on_disk(fetched) if fetched.is_file() else None
            if is_signature(path) or (found is not None and found.sha256 == wanted.sha256):
                continue
            state = "is missing" if found is None else "has other bytes"
            raise ReleaseError(
                f"{path} {state} after it was uploaded",
                where=f"{view.repository} at {commit[:12]}",
                fix="Run the same release again; if it happens again, the Hub or what is before it is at fault.",
            )


def require_nothing_dropped(
    before: Iterable[str], after: Iterable[str], expectations: Expectations, *, tag: str
) -> None:
    """Refuse a release that stops serving users whom the previous one served.

    Args:
        before: variants of the previous release.
        after: variants of this one.
        expectations: the pairs that users may have, and those that may be lost.
        tag: the previous release.

    Raises:
        ReleaseError: it names the pairs.
    """
    lost = [str(pair) for pair in dropped(expectations.pairs, before, after) if str(pair) not in expectations.drop]
    if lost:
        options = " ".join(f"--drop {pair}" for pair in lost)
        raise ReleaseError(
            f"users of {', '.join(lost)} were served by {tag} and would not be any more",
            fix=f"Promise them in matrix.yaml, or say that it is meant: {options}",
        )
