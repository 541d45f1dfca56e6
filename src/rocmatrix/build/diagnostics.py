"""The first error of a failed build, as the tool that found it printed it."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

_FAILED = re.compile(r"^FAILED: .*$", re.MULTILINE)
_CODE = re.compile(r"^FAILED: \[code=(\d+)\]", re.MULTILINE)
_SIGNALS = 128
_LABEL = re.compile(r"^\[\d+/\d+\] (.*)$", re.MULTILINE)
# clang and gcc: file:line:column: error: …; a warning may quote such a line, so that the first place in it counts
_PLACE = r"[^\s<](?:(?!:\d+(?::\d+)?: ).)*:\d+(?::\d+)?: (?:fatal )?error\b"
_LOCATED = re.compile(rf"^{_PLACE}")
_ERROR = re.compile(
    rf"^(?:{_PLACE}"
    r"|<[^>]*>:\d+(?::\d+)?: error\b"  # what has no file: <inline asm>, <command line>
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
    command printed is returned. An error that names no source is followed by the label of the step that failed.

    Args:
        output: all that ninja and the commands printed; ninja keeps each command's lines together.
        project: folder of the private copy that was compiled.
    """
    lines = _failed_lines(relative_to(project, output))
    for number, line in enumerate(lines):
        if _ERROR.match(line):
            rest = takewhile(lambda text: not _NEXT.match(text), lines[number + 1 :])
            found = "\n".join([line, *rest][:_MOST_LINES]).rstrip()
            return found if names_source(found) else found + _step(output)
    found = "\n".join(lines[-_MOST_LINES:]).strip() or f"the command {_ended(output)} and printed nothing"
    return found + _step(output)


def _ended(output: str) -> str:
    """Return how the command ended that failed first; the shell and ninja add 128 to the number of a signal."""
    match = _CODE.search(output)
    code = int(match[1]) if match else 0
    return f"was killed by signal {code - _SIGNALS}" if code > _SIGNALS else "failed"


def _step(output: str) -> str:
    """Return a line with the label of the step that failed, which ninja prints before what it printed."""
    match = _FAILED.search(output)
    labels = _LABEL.findall(output, 0, match.start()) if match else []
    return f"\nin the step: {labels[-1]}" if labels else ""


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
