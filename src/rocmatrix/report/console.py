"""Where text for people goes: rich consoles that survive any terminal.

rich itself honours ``NO_COLOR``, ``FORCE_COLOR``, ``TERM=dumb`` and ``COLUMNS``. Added here: characters that the
terminal's encoding lacks are replaced instead of raised, a reader that went away stops the output and not the work,
and nothing in a text is taken for markup.
"""

from __future__ import annotations

import codecs
import io
import os
from contextlib import suppress
from typing import IO, TextIO

from rich.console import Console

_LOG_WIDTH = 120
"""Columns where there is no terminal to ask and ``COLUMNS`` is not set: logs are read in wide windows."""


_ERRORS = "rocmatrix.nearest"
_NEAREST = {"…": "~", "·": ".", "×": "x", "–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"'}  # noqa: RUF001 - they are what is replaced
"""What is written for characters of ours and of compilers' messages where the terminal's encoding lacks them."""


class SafeConsole(Console):
    """A console that goes quiet when its reader has gone away."""

    def on_broken_pipe(self) -> None:
        """Drop all further output; the work that reports here goes on."""
        self.quiet = True
        silence(self.file)


def make_console(stream: TextIO) -> Console:
    """Return a console on a stream: a terminal's width if it is one, else ``COLUMNS`` or 120."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=_ERRORS)
    console = SafeConsole(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _LOG_WIDTH
    return console


def silence(stream: IO[str]) -> None:
    """Send what is still written to a stream nowhere, so that not even the flush at exit fails."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    r"""Replace what cannot be encoded by the nearest ASCII of the same width, or by its code (``\u2603``)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_NEAREST.get(one, one.encode("unicode_escape").decode("ascii")) for one in lacking), error.end


codecs.register_error(_ERRORS, _nearest)
