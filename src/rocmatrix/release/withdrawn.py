"""Releases that were withdrawn: a list on ``main``, which the card shows and later releases read."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix import document
from rocmatrix.document import DocumentError
from rocmatrix.errors import ReleaseError
from rocmatrix.plain_text import bounded, escaped
from rocmatrix.plan.text import quote
from rocmatrix.release.source_tag import read_version
from rocmatrix.release.trees import LocalFile, file_of
from rocmatrix.release.view import View

LIST = ".rocmatrix/withdrawn.json"
_HEADING = "## Withdrawn releases"
_MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """One of them: its tag on the Hub, and the author's reason."""

    tag: str
    reason: str


def read_withdrawn(view: View, main: str) -> tuple[Withdrawal, ...]:
    """Return the releases that were withdrawn.

    Args:
        view: the repository.
        main: the head of ``main``.

    Raises:
        ReleaseError: the list is not what rocmatrix wrote.
    """
    content = view.read(main, LIST)
    if not content:
        return ()
    try:
        found = document.from_json(content, tuple[Withdrawal, ...])
    except DocumentError as err:
        raise _no_list(view, str(err)) from err
    odd = next((each.tag for each in found if read_version(each.tag) is None), None)
    if odd is not None:
        raise _no_list(view, f"{quote(odd)} is no tag of a release")
    return found


def _no_list(view: View, why: str) -> ReleaseError:
    fix = f"Put {LIST} on {_MAIN} back to what it was."
    return ReleaseError(f"it is no list of withdrawn releases: {why}", where=view.repository, fix=fix)


def list_of(withdrawn: tuple[Withdrawal, ...]) -> LocalFile:
    """Return the list as a file."""
    return file_of(document.to_json(withdrawn))


def with_section(card: bytes, withdrawn: tuple[Withdrawal, ...]) -> bytes:
    """Return a card whose last section names the withdrawn releases; a section that is there is replaced.

    Reasons are shown as text, whatever Markdown is in them.
    """
    text = card.decode("utf-8", "replace").partition(f"\n{_HEADING}\n")[0].rstrip()
    if not withdrawn:
        return f"{text}\n".encode()
    lines = [f"- `{each.tag}`: {escaped(bounded(each.reason))}" for each in withdrawn]
    return f"{text}\n\n{_HEADING}\n\n{chr(10).join(lines)}\n".encode()
