"""Words for messages: values from a file quoted safely, the nearest valid spelling, and lists as a person says them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_LONGEST_QUOTE = 60
_LONGEST_LIST = 40


def quote(text: str) -> str:
    """Return a text from a user's file in quotes, fit for any terminal or log.

    Whatever is not printable ASCII is escaped, so that control sequences, line breaks (and with them workflow commands)
    do nothing and a letter that only looks like another is seen; long texts are cut. ``##[`` is the old spelling of a
    workflow command, which may stand anywhere in a line, and ``${{`` would be an expression where a message is pasted
    into a workflow.
    """
    cut = text[:_LONGEST_QUOTE]
    shown = ascii(cut).replace("##[", "#\\x23[").replace("${{", "$\\x7b{")
    return f"{shown}... ({len(text)} characters)" if len(text) > _LONGEST_QUOTE else shown


def acts_on_workflows(text: str) -> bool:
    """Return whether a text has a command or an expression of GitHub's workflows, which act on both in logs."""
    return text.lstrip().startswith("::") or "##[" in text or "${{" in text


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a person most likely meant by a word, or ``None`` if nothing is close."""
    if len(word) > _LONGEST_QUOTE:
        return None
    by_folded = {_folded(choice): choice for choice in choices}
    found = difflib.get_close_matches(_folded(word), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def allowed(word: str, choices: Sequence[str]) -> str:
    """Return the advice that goes with a wrong word: the nearest valid spelling, then all of them."""
    close = nearest(word, choices)
    meant = f"Did you mean {close}? " if close else ""
    return f"{meant}Allowed: {', '.join(choices) or 'nothing'}."


def in_words(items: Sequence[str], last: str = "and") -> str:
    """Return ``a, b and c``; a long list ends in how many more there are."""
    if len(items) > _LONGEST_LIST:
        return f"{', '.join(items[:_LONGEST_LIST])} {last} {len(items) - _LONGEST_LIST} more"
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def place(where: str) -> str:
    """Return a place in a file by the file's own name, e.g. ``matrix.yaml:8``.

    Plans name places this way: they are the same on every machine, wherever the files lie there.
    """
    return where.rsplit("/", 1)[-1]


def _folded(word: str) -> str:
    return word.casefold().replace("_", "-")
