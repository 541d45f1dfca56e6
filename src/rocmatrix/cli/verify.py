"""``rocmatrix verify``: whether a published kernel is what it says, whoever published it."""

from __future__ import annotations

import argparse

from rocmatrix.cli.audit import add_auditing, present_audit, require_sarif_place
from rocmatrix.cli.options import Verb, positive
from rocmatrix.errors import ExitCode

DEFAULT_MAX_MB = 2000


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_auditing(parser)
    parser.add_argument(
        "kernel",
        metavar="REPO[@REV]",
        help="a kernel on the Hub, and a branch, a tag or a commit of it (default: the newest v<N>)",
    )
    parser.add_argument(
        "--max-mb",
        type=positive,
        default=DEFAULT_MAX_MB,
        metavar="N",
        help="megabytes that may be downloaded (default: %(default)s)",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Download the kernel and audit each variant; exit 5 if one is not what its metadata promises."""
    from rocmatrix.audit.published import audit_published, parse_published  # noqa: PLC0415 - `--help` must not wait
    from rocmatrix.audit.torch_shelf import torch_reader  # noqa: PLC0415 - as above
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415

    kernel = parse_published(arguments.kernel)
    require_sarif_place(arguments)
    with reporter_of(arguments) as reporter:
        audited = audit_published(
            kernel,
            only=tuple(arguments.only),
            max_bytes=arguments.max_mb * 1_000_000,
            emit=reporter.emit,
            torch=torch_reader(arguments.torch, reporter.emit),
        )
    return present_audit(arguments, audited)


VERB = Verb(
    name="verify",
    summary="verify a published kernel on the Hub: digests, signature, binaries against metadata, all rules",
    declare=declare,
    execute=execute,
)
