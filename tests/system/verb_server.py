"""Runs the command line again and again in one process: ``python -m tests.system.verb_server``.

A process of its own, because the Hub's client reads endpoint and token when it is imported; one for many commands,
because that import takes seconds. A line of standard input is a JSON list of words, or an object of ``words`` and
``environment``, variables for this command alone; the line that answers it has exit code, standard output and error.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from rocmatrix.cli.main import main


def answer(words: list[str]) -> dict[str, object]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def answer_line(line: str) -> dict[str, object]:
    asked = json.loads(line)
    if isinstance(asked, list):
        return answer(asked)
    before = dict(os.environ)
    os.environ.update(asked["environment"])
    try:
        return answer(asked["words"])
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer_line(line)), flush=True)  # noqa: T201 - the protocol
