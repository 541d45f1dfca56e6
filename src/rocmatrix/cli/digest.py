"""``rocmatrix digest``: digests of output folders, for jobs that hand folders on to compare them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.cli.options import UsageError, Verb, named_path
from rocmatrix.cli.row_artifacts import add_row_artifacts, row_artifacts_of
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 4 << 20
"""Bytes of stated digests that are read: GitHub allows 1 MB of outputs for a job."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("paths", nargs="*", type=named_path, metavar="PATH", help="a file or a folder")
    add_row_artifacts(parser, "those of hosted machines are meant, what was built and what the emulator said")
    add_stated(parser, "--check", "compare with these digests instead, and refuse what is another")


def add_stated(parser: argparse.ArgumentParser, option: str, purpose: str) -> None:
    """Add an option that names digests which were stated."""
    shown = f"{purpose}: JSON, name -> digest, as `rocmatrix digest` writes it; - for standard input"
    parser.add_argument(option, type=named_path, metavar="FILE", help=shown)


def read_stated(path: Path) -> Mapping[str, str]:
    """Return the digests of an option that ``add_stated`` added.

    Raises:
        InputError: the file cannot be read, or holds none.
    """
    from rocmatrix.collect.folder_digests import read_digests  # noqa: PLC0415 - `--help` needs none of them
    from rocmatrix.input_file import read_input_or_stdin  # noqa: PLC0415

    where, text = read_input_or_stdin(path, largest=_LARGEST)
    return read_digests(text, where)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Say the digests, also as output ``digests`` of a workflow's step; with ``--check`` exit 2 where one differs."""
    from rocmatrix.collect.folder_digests import digests_of, require_digests  # noqa: PLC0415 - as above
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import one_line_json, write_line  # noqa: PLC0415
    from rocmatrix.report.step_outputs import write_step_outputs  # noqa: PLC0415
    from rocmatrix.report.text import count  # noqa: PLC0415

    artifacts = row_artifacts_of(arguments)
    if bool(arguments.paths) == (artifacts is not None):
        what = "files or folders and --artifacts are both named" if artifacts else "no file or folder is named"
        raise UsageError(what, fix="Name what a job left.")
    paths, names = (artifacts.hosted, artifacts.names) if artifacts else (arguments.paths, {})
    if arguments.check is not None:
        require_digests(paths, read_stated(arguments.check), names)
        make_console(sys.stderr).print(f"digest: {count(len(paths), 'path')} as stated")
        return ExitCode.DONE
    found = digests_of(paths, names)
    write_step_outputs({"digests": one_line_json(found)})
    write_line(found, sys.stdout)
    return ExitCode.DONE


VERB = Verb(
    name="digest",
    summary="digests of output folders, so that a later job can tell whether one was replaced",
    declare=declare,
    execute=execute,
)
