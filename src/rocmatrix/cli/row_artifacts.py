"""Options ``--artifacts`` and ``--rows``: what all jobs of a workflow left, in place of folders named one by one."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from rocmatrix.cli.options import UsageError, named_path

if TYPE_CHECKING:
    from rocmatrix.collect.row_artifacts import RowArtifacts

_ROW = re.compile(r"[A-Za-z0-9_-]+")


def add_row_artifacts(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the options; ``purpose`` says what is done with the artifacts."""
    shown = f"in a workflow, the folder into which download-artifact put all artifacts unit-*: {purpose}"
    parser.add_argument("--artifacts", type=named_path, metavar="DIR", help=shown)
    shown = "ids of the rows that `rocmatrix plan --format github` gave, one word with spaces between them"
    parser.add_argument("--rows", type=_rows, metavar="IDS", help=shown)


def row_artifacts_of(arguments: argparse.Namespace) -> RowArtifacts | None:
    """Return the artifacts that are named; ``None`` if none are.

    Raises:
        UsageError: one of the options is given without the other.
        InputError: what is there are no artifacts of these rows.
    """
    from rocmatrix.collect.row_artifacts import read_row_artifacts  # noqa: PLC0415 - `--help` needs none of them

    if (arguments.artifacts is None) != (arguments.rows is None):
        raise UsageError("--artifacts and --rows go together, and one is missing", fix="Give both.")
    return None if arguments.artifacts is None else read_row_artifacts(arguments.artifacts, arguments.rows)


def _rows(text: str) -> tuple[str, ...]:
    """Return ids of rows.

    Raises:
        argparse.ArgumentTypeError: there is none, or one is no id.
    """
    rows = tuple(text.split())
    if not rows:
        raise argparse.ArgumentTypeError("the id of a row is needed, and there is none")
    if odd := next((row for row in rows if not _ROW.fullmatch(row)), None):
        raise argparse.ArgumentTypeError(f"{odd!r} is no id of a row: letters, digits, _ and -")
    return rows
