"""Makes a private environment: whole, or not at all."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from private_environment.display import Display
from private_environment.environment import PrivateEnvironment
from private_environment.lock import EnvironmentLock
from private_environment.machine import require_linux_x86_64, system_trouble
from private_environment.pip_client import pip_install
from private_environment.seeding import PIP_LOCK, seed

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def prepare(environment: PrivateEnvironment) -> None:
    """Make the environment unless it is there, and hold it for as long as this process, or what it becomes, lives.

    Raises:
        MissingRequirementError: something needed is not to be had. Nothing half made is left then.
        KeyboardInterrupt: interrupted; the same holds.
    """

    def wait() -> None:
        print(f"{environment.directory} is in use by another start; waiting for it", file=sys.stderr, flush=True)

    try:
        lock = EnvironmentLock(environment.home / f"{environment.directory.name}.lock")
    except OSError as error:
        raise system_trouble(error, environment.directory) from error
    lock.share(wait)
    if not environment.is_ready():
        lock.exclude(wait)
        if not environment.is_ready():  # the one who was waited for may have made it
            _make(environment, lock)
        lock.share(wait)
    lock.keep_across_exec()


def install_lock(
    path: Path, environment: PrivateEnvironment, display: Display, lock: EnvironmentLock, *, progress: str = "raw"
) -> None:
    """Install what a lock names, with the hashes that it names."""
    arguments = ("--requirement", str(path))
    pip_install(environment.python, arguments, display=display, keep_open=lock.descriptor, progress=progress)


def _make(environment: PrivateEnvironment, lock: EnvironmentLock) -> None:
    """Make the environment anew; ``lock`` is held alone. Its stamp is written last.

    Raises:
        MissingRequirementError: something needed is not to be had. Nothing half made is left then.
        KeyboardInterrupt: interrupted, by the terminal or a signal that asks to end; the same holds.
    """
    require_linux_x86_64()
    display = Display()
    with _signals_interrupt():
        try:
            environment.discard()  # what a start that was killed, or an older lock, left
            display.say(f"setting up {environment.directory} (once)")
            environment.home.mkdir(parents=True, exist_ok=True)
            if not seed(environment, display=display, lock=lock):
                install_lock(PIP_LOCK, environment, display, lock, progress="off")  # by whatever pip is in it first
            environment.link_search_paths()
            environment.install(environment, display, lock)
            environment.complete()
        except OSError as error:
            _remove(environment)
            raise system_trouble(error, environment.directory) from error
        except BaseException:
            _remove(environment)
            raise
    display.say(f"  {display.total()}")


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Make the signals that ask a process to end raise KeyboardInterrupt, so that what is half made is removed."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        if before[number] is not signal.SIG_IGN:  # nohup, or a shell's background job: stays ignored
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _remove(environment: PrivateEnvironment) -> None:
    """Remove what is half made; a second Ctrl-C does not stop that."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        environment.discard()
    except OSError as error:
        raise system_trouble(error, environment.directory) from error
