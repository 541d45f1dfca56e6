"""The command line for tests that run it many times and ask nothing of a process of its own.

What a process holds from its beginning (endpoint, folders and token of the Hub's client) is the same for all commands;
other variables are each command's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SECONDS = 120.0


class Verbs:
    """A process that runs commands one after another."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take one that reads commands."""
        self._process = process

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command, with these variables beside those of the process, which is killed if it takes too long."""
        assert self._process.stdin
        assert self._process.stdout
        watch = threading.Timer(_SECONDS, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps({"words": words, "environment": environment}) + "\n")
            self._process.stdin.flush()
            done = _Done(**json.loads(self._process.stdout.readline()))
        finally:
            watch.cancel()
        assert "Traceback" not in done.err
        return subprocess.CompletedProcess(words, done.code, done.out, done.err)


@dataclass(frozen=True)
class _Done:
    code: int
    out: str
    err: str


@contextmanager
def verbs(environment: Mapping[str, str]) -> Iterator[Verbs]:
    """Yield a process with this environment, and how to find rocmatrix and its tests."""
    variables = {**environment, "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.system.verb_server"],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Verbs(process)
        assert process.stdin
        process.stdin.close()
        process.wait(60)
