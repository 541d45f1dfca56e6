"""``rocmatrix matrix update``: what the public indexes list that compat.toml does not know, and the reverse."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.cli.options import UsageError, Verb, named_path, positive
from rocmatrix.errors import ExitCode, MissingRequirementError

if TYPE_CHECKING:
    from rocmatrix.plan.survey import Survey

DEFAULT_TIMEOUT = 60


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("action", choices=("update",), help="update: ask the public indexes and show the difference")
    parser.add_argument(
        "--compat", type=named_path, metavar="FILE", help="the compat.toml to compare (default: rocmatrix's own)"
    )
    parser.add_argument("--write", action="store_true", help="write what was found into the file of --compat")
    parser.add_argument(
        "--sources", type=named_path, metavar="FILE", help="the indexes to ask (default: rocmatrix's own sources.toml)"
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=DEFAULT_TIMEOUT,
        metavar="SECONDS",
        help="for all indexes together (default: %(default)s)",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Ask, compare, show, and write if that is wanted; exit 3 if no index answers."""
    from rocmatrix import atomic  # noqa: PLC0415 - `--help` asks nothing
    from rocmatrix.input_file import read_input  # noqa: PLC0415
    from rocmatrix.plan.compat import read_compat, shipped_compat  # noqa: PLC0415
    from rocmatrix.plan.compat_changes import compare  # noqa: PLC0415
    from rocmatrix.plan.compat_proposal import propose  # noqa: PLC0415
    from rocmatrix.report.compat_view import show_update, update_document  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415

    path: Path | None = arguments.compat
    if arguments.write and path is None:
        fix = "Name a file that is yours to change, e.g. src/rocmatrix/plan/compat.toml of a checkout."
        raise UsageError("--write needs --compat FILE", fix=fix)
    content, where = (read_input(path), str(path)) if path else (shipped_compat(), "compat.toml")
    compat = read_compat(content, where)
    survey = _survey(arguments)
    changes = compare(compat, survey)
    urls = {one.source: one.url for one in survey.observations}
    today = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m")
    proposal = propose(content, changes, where=where, date=today, urls=urls)
    written = bool(arguments.write and path and proposal.changes)
    if written and path:
        atomic.write_file(path, proposal.content)
    document = update_document(survey, changes, proposal.changes, compat=str(path) if path else None, written=written)
    if arguments.json:
        write_document(document, sys.stdout)
    show_update(document, make_console(sys.stderr if arguments.json else sys.stdout))
    return ExitCode.DONE


def _survey(arguments: argparse.Namespace) -> Survey:
    """Return what the indexes list.

    Raises:
        MissingRequirementError: none of them gives an answer that can be used.
    """
    from rocmatrix.input_file import read_input  # noqa: PLC0415 - `--help` asks nothing
    from rocmatrix.upstream.ask import survey_upstream  # noqa: PLC0415
    from rocmatrix.upstream.sources import read_sources, shipped_sources  # noqa: PLC0415

    named: Path | None = arguments.sources
    sources = read_sources(read_input(named), str(named)) if named else shipped_sources()
    survey = survey_upstream(sources, timeout=arguments.timeout)
    if not survey.observations:
        reasons = "".join(f"\n  - {one.source}: {one.reason}" for one in survey.silences)
        raise MissingRequirementError(
            f"no public index gives an answer that can be used, so nothing is compared and nothing changed:{reasons}",
            where=str(named) if named else "sources.toml",
            fix="Check the network and pip's configuration (`pip config list`), or name mirrors with --sources.",
        )
    return survey


VERB = Verb(
    name="matrix",
    summary="matrix update: ask the public indexes of PyTorch and ROCm what compat.toml does not know yet",
    declare=declare,
    execute=execute,
)
