"""``rocmatrix release``: publish collected variants, all of a kernel's or none."""

from __future__ import annotations

import argparse
import os
import sys

from rocmatrix.cli.options import Verb, named_path
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("--tag", required=True, metavar="TAG", help="annotated git tag of the sources, e.g. v1.2.0")
    add_hub(parser)
    add_signing(parser)
    parser.add_argument("--dry-run", action="store_true", help="look at everything that needs no Hub, write nothing")
    parser.add_argument(
        "--allow-untested", action="store_true", help="release variants that nothing executed; the card names them"
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="PAIR",
        help="users who were served before and may be dropped, e.g. torch2.12-rocm7.1; may be given several times",
    )
    parser.add_argument(
        "--builds-on-main",
        action="store_true",
        help="put the variants of major version 1 on `main` too, where clients look that know no versions",
    )


def add_signing(parser: argparse.ArgumentParser) -> None:
    """Add ``--sign`` and ``--trust-config``."""
    parser.add_argument(
        "--sign",
        choices=("auto", "never", "required"),
        default="auto",
        help="sign metadata.json of each variant by Sigstore: where this is a CI job with an identity token, not at "
        "all, or refuse to release without (default: %(default)s)",
    )
    add_trust(parser)


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add ``--trust-config``."""
    parser.add_argument(
        "--trust-config",
        type=named_path,
        metavar="FILE",
        help="client trust configuration of a private Sigstore (default: the public one)",
    )


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Add ``--hub`` and ``--transport``."""
    parser.add_argument(
        "--hub",
        metavar="URL",
        help="address of the Hub, or `embedded` for one on this machine (default: HF_ENDPOINT, else the public Hub)",
    )
    parser.add_argument(
        "--transport",
        choices=("api", "git"),
        default="api",
        help="the Hub's API, or git with git-lfs: then --hub is any address below which repositories lie as OWNER/NAME "
        "(default: %(default)s)",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Publish; exit 7 if the release is refused or fails."""
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("release", RELEASE)
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported: by Xet it commits several times
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.release.signing import SignMode  # noqa: PLC0415
    from rocmatrix.releasing.model import Options  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.releasing.publish import release  # noqa: PLC0415
    from rocmatrix.releasing.transport import Transport  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.release_view import show_release  # noqa: PLC0415
    from rocmatrix.report.step_outputs import write_step_outputs  # noqa: PLC0415

    options = Options(
        matrix=arguments.matrix,
        out=arguments.out,
        tag=arguments.tag,
        hub=arguments.hub,
        dry_run=arguments.dry_run,
        untested=arguments.allow_untested,
        drop=tuple(arguments.drop),
        sign=SignMode(arguments.sign),
        trust=arguments.trust_config,
        builds_on_main=arguments.builds_on_main,
        transport=Transport(arguments.transport),
    )
    with reporter_of(arguments) as reporter:
        result = release(options, reporter.emit)
    if arguments.json:
        write_document(result, sys.stdout)
    write_step_outputs({"repository": result.repository, "tag": result.tag, "revision": result.commit or ""})
    show_release(result, make_console(sys.stderr if arguments.json else sys.stdout))
    return ExitCode.DONE


VERB = Verb(
    name="release",
    summary="publish what was collected on a Hub: all of a kernel or nothing, verified before users can load it",
    declare=declare,
    execute=execute,
)
