"""Runs the command line again and again in one process: ``python -m tests.system.verb_server``.

A process of its own, because the Hub's client reads endpoint and token when it is imported; one for many commands,
because that import takes seconds. A line of standard input is a JSON list of words, the line that answers it has exit
code, standard output and standard error.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from rocmatrix.cli.main import main


def answer(words: list[str]) -> dict[str, object]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)  # noqa: T201 - the protocol
