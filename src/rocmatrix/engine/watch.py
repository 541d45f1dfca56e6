"""Ends what a killed rocmatrix left running: ``watch.py``, fed by ``HostEngine`` through a pipe.

Nobody can clean up after SIGKILL in the process that gets it. This program reads ``+SESSION HOME`` and ``-SESSION``
lines, HOME as JSON; the pipe ends when rocmatrix ends, however that came about. Then the sessions that are still there
are killed and their homes removed. It uses the standard library alone and is run by path.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path


def kill_session(session: int) -> None:
    """Kill the processes of a session, also those that have a process group of their own, as ninja's commands do.

    A process that was sent SIGKILL starts no more, so that the session is empty once nobody new is found in it.
    """
    killed: set[int] = set()
    while found := set(_members(session)) - killed:
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= found


def watch(lines: Iterable[str]) -> None:
    """Read what is running until the lines end, then kill it and remove its homes."""
    running: dict[int, str] = {}
    for line in lines:
        number, _, home = line[1:].partition(" ")
        if line.startswith("+"):
            running[int(number)] = json.loads(home)
        else:
            running.pop(int(number), None)
    for session, home in running.items():
        kill_session(session)
        shutil.rmtree(home, ignore_errors=True)


def _members(session: int) -> Iterator[int]:
    """Yield the processes of a session, zombies among them."""
    for process in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]:
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(process) == session:
                yield process


if __name__ == "__main__":
    watch(sys.stdin)
