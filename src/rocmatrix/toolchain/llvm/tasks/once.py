"""Make one entry of a cache that several builds share, exactly once: ``once.py OUTPUT COMMAND... [:: COMMAND...]``.

The entry's name stands for its content, so that it is never made anew when it is there. Others that want the same entry
meanwhile wait. The commands write below a scratch folder, ``{scratch}`` in their arguments, and the last of them makes
``{scratch}/out``, a file or a folder, which is renamed to the output when it is complete: a reader sees the whole entry
or none, also when the machine stops half-way.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

SEPARATOR = "::"
SCRATCH = "{scratch}"


def main(argv: Sequence[str]) -> int:
    """Make the entry unless it is there; return the status of the first command that failed, or 0."""
    output = Path(argv[0])
    output.parent.mkdir(parents=True, exist_ok=True)
    with (output.parent / f".{output.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if output.exists():
            return 0
        scratch = output.parent / f".{output.name}.making"
        shutil.rmtree(scratch, ignore_errors=True)  # left behind by a run that was killed
        scratch.mkdir()
        try:
            return _make(output, scratch, argv[1:])
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _make(output: Path, scratch: Path, words: Sequence[str]) -> int:
    for command in _commands(words):
        status = subprocess.run([word.replace(SCRATCH, str(scratch)) for word in command], check=False).returncode
        if status:
            return status if status > 0 else 128 - status
    made = scratch / "out"
    for path in sorted(made.rglob("*")) if made.is_dir() else (made,):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    made.replace(output)
    return 0


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in (*words, SEPARATOR):
        if word != SEPARATOR:
            command.append(word)
        elif command:
            yield command
            command = []


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
