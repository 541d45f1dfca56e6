"""Make files of a cache that builds share, exactly once: ``once.py FOLDER NAME... -- COMMAND... [:: COMMAND...]``.

A file's place stands for its content, so that it is never made anew when it is there. Others that want the same files
meanwhile wait. The commands write below a scratch folder, ``{scratch}`` at the beginning of an argument, and leave the
files, under their names, in ``{made}``. Each is renamed into the folder when all are complete: a reader sees a whole
file or none, also when the machine stops half-way.

What the files were when they were made is written beside them, in the form of ``sha256sum``. Files that are others now
are made anew, and a line that begins with ``DAMAGED`` says so; files of which that is not known are not relied on.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

NAMES_END = "--"
SEPARATOR = "::"
SCRATCH = "{scratch}"
MADE = "{made}"
DAMAGED = "rocmatrix: damaged cache: "

_PLACE = re.compile(rf"(?:{re.escape(SCRATCH)}|{re.escape(MADE)})(?=/|\Z)")
"""At the beginning of an argument only: further in, it is part of somebody's path."""


def main(argv: Sequence[str]) -> int:
    """Make the files unless all are there, as made; return the status of the first command that failed, or 0."""
    end = argv.index(NAMES_END)
    folder, names = Path(argv[0]), argv[1:end]
    folder.mkdir(parents=True, exist_ok=True)
    own = names[0].replace("/", "_")
    digests = folder / f".{own}.sha256"
    with (folder / f".{own}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        scratch = folder / f".{own}.making"
        shutil.rmtree(scratch, ignore_errors=True)  # left behind by a run that was killed
        if _are_whole(folder, names, digests):
            return 0
        made = scratch / "made"
        made.mkdir(parents=True)
        try:
            status = _run(_commands(argv[end + 1 :]), scratch, made)
            if status == 0:
                _move(made, folder, names, digests)
            return status
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _are_whole(folder: Path, names: Sequence[str], digests: Path) -> bool:
    """Return whether all files are there and are what was made; say which is not."""
    try:
        known = digests.read_bytes()
    except OSError:
        return False
    if not all((folder / name).is_file() for name in names):
        return False
    found = _sums(folder, names)
    if found == known:
        return True
    now, before = found.splitlines(), known.splitlines()
    others = [name for number, name in enumerate(names) if now[number] not in before] or [digests.name]
    print(f"{DAMAGED}{', '.join(others)} in {folder}, not as it was made; it is made again")  # noqa: T201 - its message
    return False


def _sums(folder: Path, names: Sequence[str]) -> bytes:
    return b"".join(
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  ".encode() + os.fsencode(name) + b"\n"
        for name in names
    )


def _run(commands: Iterator[list[str]], scratch: Path, made: Path) -> int:
    places = {SCRATCH: str(scratch), MADE: str(made)}
    for command in commands:
        words = [_placed(word, places) for word in command]
        status = subprocess.run(words, check=False).returncode
        if status:
            return status if status > 0 else 128 - status
    return 0


def _placed(word: str, places: Mapping[str, str]) -> str:
    found = _PLACE.match(word)
    return places[found[0]] + word[found.end() :] if found else word


def _move(made: Path, folder: Path, names: Sequence[str], digests: Path) -> None:
    """Rename the files into the folder; their digests come last, so that none are there without all the files."""
    digests.unlink(missing_ok=True)
    unfinished = made.parent / "sha256"
    unfinished.write_bytes(_sums(made, names))
    for path in (unfinished, *(made / name for name in names)):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).replace(folder / name)
    unfinished.replace(digests)


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
