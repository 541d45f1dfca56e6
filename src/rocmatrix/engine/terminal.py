"""The terminal of this process, lent to a command that runs elsewhere."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rocmatrix.engine.stream import Connection
from rocmatrix.errors import InputError

_BLOCK = 65536


def require_terminal() -> None:
    """Refuse a process whose input or output is no terminal.

    Raises:
        InputError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("a shell needs a terminal", fix="Run it where you type, without pipes or redirections.")


def lend(stream: Connection, resize: Callable[[int, int], None]) -> None:
    """Copy what is typed to a command and what it writes to the terminal until it ends.

    Args:
        stream: connected to a command that has a terminal of its own.
        resize: told the rows and columns of this terminal, at the beginning and when they change.
    """
    keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()
    sys.stdout.flush()
    with _raw(keyboard), _resized(resize):
        while True:
            ready, _, _ = select.select([keyboard, stream.fileno()], [], [], 1.0)
            if keyboard in ready:
                stream.send(os.read(keyboard, _BLOCK))
            if stream.fileno() in ready:
                data = stream.receive(0)
                if data == b"":
                    return
                while data:
                    data = data[os.write(screen, data) :]


@contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    """Hand every key on as it is typed, Ctrl-C included."""
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextmanager
def _resized(resize: Callable[[int, int], None]) -> Iterator[None]:
    def tell(*_: object) -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        resize(size.lines, size.columns)

    before = signal.signal(signal.SIGWINCH, tell)
    try:
        tell()
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
