"""The first error of a failed build, as the tool that found it printed it."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

_FAILED = re.compile(r"^FAILED: .*$", re.MULTILINE)
_LOCATED = re.compile(r"^\S.*:\d+(?::\d+)?: (?:fatal )?error\b")
_ERROR = re.compile(
    r"^(?:\S.*:\d+(?::\d+)?: (?:fatal )?error\b"  # clang and gcc: file:line:column: error: …
    r"|(?:\S*ld(?:\.lld)?|clang(?:\+\+)?|zig|\S*lld-link): (?:fatal )?error\b"  # linkers and drivers
    r"|(?:fatal )?error: "
    r"|\S*ld: .*undefined reference"
    r"|[A-Za-z_.]*(?:Error|Exception): )"  # a step that is a Python program
)
_NEXT = re.compile(r"^(?:\S.*:\d+:\d+: |\d+ (?:error|warning)s? |In file included from |\S*ld(?:\.lld)?: )")
_NINJA = re.compile(r"^(?:\[\d+/\d+\] |ninja: |FAILED: )")
_MOST_LINES = 8


def first_error(output: str, project: Path) -> str:
    """Return the first error in the output of ninja, with the lines that belong to it.

    Paths below the project are written relative to it. Where no line looks like an error, the end of what the failed
    command printed is returned.

    Args:
        output: all that ninja and the commands printed; ninja keeps each command's lines together.
        project: folder of the private copy that was compiled.
    """
    lines = _failed_lines(relative_to(project, output))
    for number, line in enumerate(lines):
        if _ERROR.match(line):
            rest = takewhile(lambda text: not _NEXT.match(text), lines[number + 1 :])
            return "\n".join([line, *rest][:_MOST_LINES]).rstrip()
    return "\n".join(lines[-_MOST_LINES:]).strip() or "the command failed and printed nothing"


def names_source(error: str) -> bool:
    """Return whether an error names file and line of what was compiled."""
    return _LOCATED.match(error) is not None


def relative_to(project: Path, text: str) -> str:
    """Return a text with the paths below a project written relative to it."""
    return text.replace(f"{project.resolve()}/", "").replace(f"{project}/", "")


def _failed_lines(output: str) -> list[str]:
    """Return what the command that failed first printed, without ninja's own lines and the command itself."""
    match = _FAILED.search(output)
    if not match:
        return [line.removeprefix("ninja: ") for line in output.splitlines() if line]
    after = output[match.end() :].lstrip("\n").splitlines()[1:]
    return list(takewhile(lambda line: not _NINJA.match(line), after))
