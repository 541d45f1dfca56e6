"""How a command ends when it does not end well: one message, the right exit code, never a bare traceback."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import rocmatrix
from rocmatrix.cli.options import DEFAULT_OUT
from rocmatrix.errors import ExitCode, RocmatrixError

_MACHINE = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EPERM,
        errno.EROFS,
    }
)
"""Errors that say something of the machine and nothing of rocmatrix."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does: orderly, and leaving what a rerun continues from."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    except ValueError:  # not the main thread: whoever called us there owns the signals
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refuse(error: RocmatrixError, words: Sequence[str]) -> ExitCode:
    """Say what happened, where, and what to do."""
    return _say(error.what, where=error.where, fix=error.fix, code=error.exit_code, words=words)


def interrupted(words: Sequence[str]) -> ExitCode:
    """Say that the command was interrupted and can be repeated."""
    return _say("interrupted; run the same command again to continue", code=ExitCode.INTERRUPTED, words=words)


def reader_left() -> ExitCode:
    """Take the end of a pipe (``rocmatrix plan | head -1``) for what it is: nobody is there to be told anything."""
    from rocmatrix.report.console import silence  # noqa: PLC0415 - rich is only needed where something is written

    silence(sys.stdout)
    return ExitCode.INTERRUPTED


def system(error: OSError, words: Sequence[str]) -> ExitCode:
    """Say what the machine refused: a full or read-only disk, a missing right; every other such error is a bug."""
    if not _in_folder():
        return _say(
            "the current folder is not there any more",
            fix="Change to another folder, then run again.",
            code=ExitCode.INPUT,
            words=words,
        )
    if error.errno not in _MACHINE:
        return bug(error, words)
    return _say(
        f"this machine refused to write or read: {error.strerror}",
        where=str(error.filename) if error.filename is not None else None,
        fix="See to its disks, rights and limits, then run the same command again.",
        code=ExitCode.ENVIRONMENT,
        words=words,
    )


def _in_folder() -> bool:
    try:
        return Path.cwd().is_dir()
    except OSError:
        return False


def bug(error: Exception, words: Sequence[str]) -> ExitCode:
    """Say that this is a bug in rocmatrix, its cause in one line, and where the traceback was written."""
    told = "".join(traceback.format_exception(error))
    kept = _keep_traceback(told, words)
    if {"-v", "--verbose"} & set(words) or kept is None:
        _stderr(told)
    return _say(
        f"a bug in rocmatrix: {type(error).__name__}: {error}",
        where=_innermost(error),
        fix=f"Please report it with {kept}." if kept else "Please report it with the traceback above.",
        code=ExitCode.BUG,
        words=words,
    )


def flush() -> None:
    """Write what is still buffered, so that a stream that takes no more cannot fail the interpreter's exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # a reader that went away, or a full disk
            from rocmatrix.report.console import silence  # noqa: PLC0415 - rich is only needed where something is written

            silence(stream)


def _say(
    what: str, *, code: ExitCode, words: Sequence[str], where: str | None = None, fix: str | None = None
) -> ExitCode:
    from rocmatrix.report.annotations import refusal_annotation  # noqa: PLC0415 - rich only where something is shown
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import error_document, write_document  # noqa: PLC0415
    from rocmatrix.report.workflow_commands import in_actions  # noqa: PLC0415

    message = RocmatrixError(what, where=where, fix=fix)
    with contextlib.suppress(OSError):  # the exit code still says it
        _stderr(f"error: {message}\n")
        if in_actions() and code is not ExitCode.INTERRUPTED:
            make_console(sys.stderr).print(refusal_annotation(message), soft_wrap=True)
    if wants_json(words):
        with contextlib.suppress(OSError):  # it was said on stderr
            write_document(error_document(what, where=where, fix=fix, code=code), sys.stdout)
    return code


def wants_json(words: Sequence[str]) -> bool:
    """Return whether the arguments ask for JSON; works on arguments that do not parse, too."""
    return "--json" in words or "--format=json" in words or ("--format", "json") in itertools.pairwise(words)


def _stderr(text: str) -> None:
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.text import visible  # noqa: PLC0415
    from rocmatrix.report.workflow_commands import guarded, in_actions  # noqa: PLC0415

    shown = visible(text.rstrip("\n"))
    make_console(sys.stderr).print(guarded(shown) if in_actions() else shown, soft_wrap=True)


def _innermost(error: Exception) -> str | None:
    """Return file and line of ours where the error came from, relative to the package."""
    home = Path(rocmatrix.__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(home)]
    if not frames:
        return None
    return f"{Path(frames[-1].filename).relative_to(home.parent)}:{frames[-1].lineno}"


def _keep_traceback(told: str, words: Sequence[str]) -> Path | None:
    """Write a traceback into the output folder if there is one, else the cache or the temporary folder."""
    head = f"rocmatrix {rocmatrix.__version__}, Python {platform.python_version()}, {platform.platform()}\n{words}\n\n"
    name = f"traceback-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    for folder in _crash_folders(words):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.write_text(head + told, encoding="utf-8", errors="backslashreplace")
            return path
    return None


def _crash_folders(words: Sequence[str]) -> Iterator[Path]:
    spelled = [word.partition("=")[::2] for word in words if word.startswith("--out=")]
    pairs = [*itertools.pairwise(words), *spelled]
    out = next((Path(value) for name, value in pairs if name == "--out"), DEFAULT_OUT)
    if out.is_dir():
        yield out
    with contextlib.suppress(Exception):  # what it imports may be what cannot be imported
        from rocmatrix.machine.cache import cache_folder  # noqa: PLC0415

        yield cache_folder()
    yield Path(tempfile.gettempdir())
