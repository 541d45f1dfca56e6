"""``rocmatrix why``: which variant of a published kernel a user gets, and why each other one is rejected."""

from __future__ import annotations

import argparse
import os

from rocmatrix.cli.options import Verb
from rocmatrix.cli.release import add_hub
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("repository", metavar="REPO[@REV]", help="owner/name, and a version, branch, tag or commit")
    parser.add_argument("--torch", required=True, metavar="MINOR", help="the user's torch, e.g. 2.13")
    parser.add_argument("--rocm", required=True, metavar="MINOR", help="as torch.version.hip says it, e.g. 7.2")
    parser.add_argument("--arch", metavar="GFX", help="the user's GPU, e.g. gfx942")
    add_hub(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Explain; exit 7 if the user gets nothing that loads."""
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("why", RELEASE)
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported, as in `release`
    from rocmatrix.cli.telling import tell  # noqa: PLC0415
    from rocmatrix.releasing.explanation import why  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.releasing.transport import Transport  # noqa: PLC0415
    from rocmatrix.report.release_view import show_explanation  # noqa: PLC0415

    explanation = why(
        arguments.repository,
        torch=arguments.torch,
        rocm=arguments.rocm,
        arch=arguments.arch,
        hub=arguments.hub,
        transport=Transport(arguments.transport),
    )
    tell(arguments, explanation, lambda console: show_explanation(explanation, console))
    loads = explanation.variant is not None and explanation.objection is None
    return ExitCode.DONE if loads else ExitCode.RELEASE


VERB = Verb(
    name="why",
    summary="which variant of a published kernel a user gets, and why each other one is rejected",
    declare=declare,
    execute=execute,
)
