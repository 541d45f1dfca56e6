"""``rocmatrix yank``: withdraw a release; its tag stays, and users get the one before."""

from __future__ import annotations

import argparse
import os

from rocmatrix.cli.options import Verb
from rocmatrix.cli.release import add_hub
from rocmatrix.errors import ExitCode, InputError


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("tag", metavar="TAG", help="the release, by its tag, e.g. v1.1.0")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="for the card, one sentence")
    add_hub(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Withdraw; exit 7 if the Hub does not allow it."""
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("yank", RELEASE)
    if not arguments.reason.strip():
        raise InputError("users are told the reason, and it is empty", where="--reason")
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported, as in `release`
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.cli.telling import tell  # noqa: PLC0415
    from rocmatrix.releasing.transport import Transport  # noqa: PLC0415
    from rocmatrix.releasing.withdraw import yank  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.report.release_view import show_withdrawal  # noqa: PLC0415

    with reporter_of(arguments) as reporter:
        result = yank(
            arguments.tag,
            arguments.reason,
            out=arguments.out,
            hub=arguments.hub,
            transport=Transport(arguments.transport),
            emit=reporter.emit,
        )
    tell(arguments, result, lambda console: show_withdrawal(result, console))
    return ExitCode.DONE


VERB = Verb(
    name="yank",
    summary="withdraw a release: users get the one before it, the card says why, the tag stays",
    declare=declare,
    execute=execute,
)
