"""The first process in the container: it loads no torch, and begins a new child behind a case that took one down.

A child that does not get on is killed; the case is known by what the child wrote last. What a child prints is read to
its end and only its last bytes are kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

from .wire import BEGAN, ENDED, ENDS, IDENTITY, End, Order, read_order

_KEPT = 8000
_KILL_SECONDS = 20.0
"""A process that a GPU holds may not end when it is killed: after so long it is left to the end of the container."""
_BLOCK = 65536


def main(verb: str, *arguments: str) -> None:
    """Do one of ``identity``, ``cases`` and ``child``."""
    if verb == "identity":
        device, results = arguments
        from .child import look  # noqa: PLC0415 - it loads torch

        (Path(results) / IDENTITY).write_text(json.dumps(asdict(look(device))))
    elif verb == "cases":
        supervise(*map(Path, arguments))
    else:
        from .child import main as run  # noqa: PLC0415 - it loads torch

        payload, inputs, results, first, news = arguments
        run(Path(payload), Path(inputs), Path(results), int(first), int(news))


def supervise(payload: Path, inputs: Path, results: Path) -> None:
    """Run all cases of an order, or those up to one that did not end in its time."""
    order, first = read_order(inputs), 0
    with (results / ENDS).open("a") as ends:
        while first < len(order.cases):
            child = _Child(order, payload, inputs, results, first)
            end, done = child.watch()
            if end is None:
                return
            ends.write(json.dumps(asdict(end)) + "\n")
            ends.flush()
            if end.late or end.case < 0:
                return
            first = max(done, end.case) + 1


class _Child:
    """A child, and what is known of it."""

    def __init__(self, order: Order, payload: Path, inputs: Path, results: Path, first: int) -> None:
        self._order, self._first = order, first
        reading, writing = os.pipe()
        folder = Path(__file__).parent
        start = f"import sys; sys.path.insert(0, {str(folder.parent)!r}); from {folder.name}.supervisor import main; "
        command = [sys.executable, "-I", "-B", "-c", start + "main(*sys.argv[1:])", "child"]
        self._process = subprocess.Popen(
            [*command, str(payload), str(inputs), str(results), str(first), str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(writing,),
            preexec_fn=os.setpgrp,  # noqa: PLW1509 - there is one thread; to kill it with all that it started
        )
        os.close(writing)
        self._news: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self._case, self._done = -1, first - 1
        self._rest = b""
        self._said = bytearray()
        self._deadline = time.monotonic() + order.start_seconds

    def watch(self) -> tuple[End | None, int]:
        """Wait for its end; return how it ended, ``None`` if as it should, and the last case that ended."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        with selectors.DefaultSelector() as selector:
            for stream in (self._news, self._process.stdout):
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            late = not self._read(selector)
        if late:
            self._kill()
        try:
            status: int | None = self._process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            late, status = True, None
            self._kill()
        through = self._case == -1 or self._done == len(self._order.cases) - 1
        if status == 0 and through and not late:
            return None, self._done
        said = bytes(self._said).decode("utf-8", "replace")
        return End(case=self._case, status=status, late=late, said=said), self._done

    def _read(self, selector: selectors.BaseSelector) -> bool:
        """Read until the process ends; return whether that was in time."""
        while selector.get_map():
            left = self._deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(min(left, 1.0)):
                block = os.read(key.fd, _BLOCK)
                if not block:
                    selector.unregister(key.fileobj)
                elif key.fileobj is self._news:
                    self._take(block)
                else:
                    self._said = (self._said + block)[-_KEPT:]
            if self._process.poll() is not None:
                self._last_words(selector)
                return True
        return True

    def _last_words(self, selector: selectors.BaseSelector) -> None:
        """Read what is there of a process that ended; what its own children hold open is not waited for."""
        for key, _ in selector.select(0.2):
            block = os.read(key.fd, 4 * _BLOCK)
            if key.fileobj is self._news:
                self._take(block)
            else:
                self._said = (self._said + block)[-_KEPT:]

    def _take(self, block: bytes) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        self._rest = self._rest[-_KEPT:]
        for line in lines:
            word, _, digits = line.decode("ascii", "replace").partition(" ")
            number = int(digits) if digits.isdecimal() and len(digits) < 10 else -1  # noqa: PLR2004
            if word == "began" and self._case < number < len(self._order.cases) and number >= self._first:
                self._case = number
                self._deadline = time.monotonic() + self._order.cases[number].seconds
                print(BEGAN, number, flush=True)  # noqa: T201 - read outside
            elif word == "ended" and number == self._case:
                self._done = number
                print(ENDED, number, flush=True)  # noqa: T201

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
