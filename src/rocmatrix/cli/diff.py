"""``rocmatrix diff``: how the output folder differs from an earlier release."""

from __future__ import annotations

import argparse
import os
import sys

from rocmatrix.cli.options import Verb
from rocmatrix.cli.release import add_hub
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("tag", metavar="TAG", help="an earlier release, by its tag, e.g. v1.1.0")
    parser.add_argument(
        "--before",
        action="store_true",
        help="compare with the last release before TAG, which need not be there yet; the first one is said to be that",
    )
    add_hub(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Show the difference; a difference is no failure."""
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("diff", RELEASE)
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported, as in `release`
    from rocmatrix.releasing.comparison import NothingBefore, compare_with  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.releasing.transport import Transport  # noqa: PLC0415
    from rocmatrix.report.audit_difference import show_difference  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.release_view import show_compared, show_nothing_before, show_users  # noqa: PLC0415

    transport = Transport(arguments.transport)
    found = compare_with(
        arguments.tag, out=arguments.out, hub=arguments.hub, transport=transport, before=arguments.before
    )
    if arguments.json:
        write_document(found, sys.stdout)
    people = make_console(sys.stderr if arguments.json else sys.stdout)
    if isinstance(found, NothingBefore):
        show_nothing_before(found, people)
        return ExitCode.DONE
    show_compared(found, people)
    show_difference(found.binaries, people)
    show_users(found, people)
    return ExitCode.DONE


VERB = Verb(
    name="diff",
    summary="how the output folder differs from an earlier release: users gained and lost, archs, registers, sizes",
    declare=declare,
    execute=execute,
)
