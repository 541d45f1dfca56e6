"""Make files of a cache that builds share, exactly once: ``once.py FOLDER NAME... -- COMMAND... [:: COMMAND...]``.

A file's place stands for its content, so that it is never made anew when it is there. Others that want the same files
meanwhile wait. The commands write below a scratch folder, ``{scratch}`` in their arguments, and leave the files, under
their names, in ``{made}``. Each is renamed into the folder when all are complete: a reader sees a whole file or none,
also when the machine stops half-way.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NAMES_END = "--"
SEPARATOR = "::"
SCRATCH = "{scratch}"
MADE = "{made}"


def main(argv: Sequence[str]) -> int:
    """Make the files unless all are there; return the status of the first command that failed, or 0."""
    end = argv.index(NAMES_END)
    folder, names = Path(argv[0]), argv[1:end]
    folder.mkdir(parents=True, exist_ok=True)
    own = names[0].replace("/", "_")
    with (folder / f".{own}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if all((folder / name).is_file() for name in names):
            return 0
        scratch = folder / f".{own}.making"
        shutil.rmtree(scratch, ignore_errors=True)  # left behind by a run that was killed
        made = scratch / "made"
        made.mkdir(parents=True)
        try:
            status = _run(_commands(argv[end + 1 :]), scratch, made)
            if status == 0:
                _move(made, folder, names)
            return status
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _run(commands: Iterator[list[str]], scratch: Path, made: Path) -> int:
    for command in commands:
        words = [word.replace(SCRATCH, str(scratch)).replace(MADE, str(made)) for word in command]
        status = subprocess.run(words, check=False).returncode
        if status:
            return status if status > 0 else 128 - status
    return 0


def _move(made: Path, folder: Path, names: Sequence[str]) -> None:
    for name in names:
        with (made / name).open("rb") as stream:
            os.fsync(stream.fileno())
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).replace(folder / name)


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
