"""Runs a script's main function and turns what it raises into one message and the right exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence

from rocmatrix.errors import ExitCode, RocmatrixError


def present(name: str, main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Call ``main(arguments)`` and return the exit code; whatever goes wrong is one message on standard error."""
    try:
        return main(arguments)
    except RocmatrixError as error:
        _say(f"{name}: {error}")
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        by = f" by {interrupt.args[0]}" if interrupt.args else ""
        _say(f"{name}: interrupted{by}; nothing half made was left. Run the same command again to begin anew.")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence; its text asks for a report
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _say(
            f"{name}: a bug in this script: {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})\n"
            "  Please report it with this line and the command that you ran."
        )
        return ExitCode.BUG


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
