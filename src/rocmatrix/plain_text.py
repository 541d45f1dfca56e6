r"""Foreign text made harmless: for terminals, for logs of a workflow, for Markdown.

Compiler output, paths and reasons come from outside. Before they reach a terminal every control character in them is
written out (``\x1b``), so that a source file cannot move the cursor, hide a line or set a window title.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 1000
"""Characters of a text that is taken from another machine's record."""

_KEPT = {"\n", "\t"}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, invisible formatting (bidirectional overrides among them), lone surrogates, line and paragraph marks."""
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_CUT = "…"


def visible(text: str) -> str:
    """Return the text with every control character written out; line ends and tabs (as spaces) stay.

    So is a brace of ``${{``, which would be an expression where a message is pasted into a workflow.
    """
    lines = text.replace("\r\n", "\n").expandtabs(4).replace("${{", "$\\x7b{")
    return "".join(character if _harmless(character) else _written_out(character) for character in lines)


def one_line(text: str) -> str:
    """Return the text as one line: control characters written out, runs of white space as one space.

    What a GitHub Actions runner would take for a command is written out as well: ``##[`` anywhere, ``::`` in front.
    """
    line = visible(" ".join(text.split())).replace("##[", "##\\x5b")
    return f"\\x3a{line[1:]}" if line.startswith("::") else line


def bounded(text: str) -> str:
    """Return the text as one line of at most ``LONGEST`` characters; done again it changes nothing."""
    line = one_line(text)
    return line if len(line) <= LONGEST else line[: LONGEST - len(_CUT)] + _CUT


def escaped(text: str) -> str:
    """Return the text as one line in which Markdown and HTML see nothing but the text."""
    return _PUNCTUATION.sub(r"\\\1", one_line(text))


def _harmless(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _HIDDEN_CATEGORIES


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
