"""``rocmatrix verify``: whether a published kernel is what it says, whoever published it."""

from __future__ import annotations

import argparse
import sys
from functools import cache
from typing import TYPE_CHECKING

from rocmatrix.cli.audit import add_auditing, present_audit, require_sarif_place
from rocmatrix.cli.options import UsageError, Verb, named_path, positive
from rocmatrix.cli.release import add_trust
from rocmatrix.errors import ExitCode, RocmatrixError
from rocmatrix.events import Notice
from rocmatrix.signatures.model import GITHUB_ISSUER, SignerPolicy

if TYPE_CHECKING:
    from rocmatrix.audit.published import PublishedAudit
    from rocmatrix.audit.signature import SignatureCheck
    from rocmatrix.events import Emit
    from rocmatrix.releasing.load_model import LoadedKernel

DEFAULT_MAX_MB = 2000


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_auditing(parser)
    parser.add_argument(
        "kernel",
        metavar="REPO[@REV]",
        help="a kernel on the Hub, and a branch, a tag or a commit of it (default: the newest v<N>)",
    )
    add_verifying(parser)


def add_verifying(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that verify what is published: how much, signed by whom, imported where."""
    parser.add_argument(
        "--max-mb",
        type=positive,
        default=DEFAULT_MAX_MB,
        metavar="N",
        help="megabytes that may be downloaded (default: %(default)s)",
    )
    parser.add_argument(
        "--signer",
        action="append",
        default=[],
        metavar="PATTERN",
        help="who has to have signed every variant, e.g. "
        "'https://github.com/acme/kernels/.github/workflows/release.yml@refs/tags/*'; may be given several times",
    )
    parser.add_argument(
        "--signer-issuer",
        default=GITHUB_ISSUER,
        metavar="URL",
        help="who has to have vouched for the signer (default: %(default)s)",
    )
    parser.add_argument(
        "--signer-sources",
        metavar="URL",
        help="the repository whose run has to have signed, e.g. https://github.com/acme/kernels; needed where the "
        "signer is a reusable workflow of another repository (default: the repository of the workflow itself)",
    )
    parser.add_argument(
        "--load",
        type=named_path,
        metavar="PYTHON",
        help="also import each stable-ABI variant in this Python, which has torch and kernels: runs the kernel's code",
    )
    add_trust(parser)


def signature_check(arguments: argparse.Namespace, verb: str = "verify") -> SignatureCheck | None:
    """Return what verifies signatures; ``None`` where the extra is not installed and nobody asked for a signer."""
    from rocmatrix.audit.signature import SignatureCheck  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.machine.extras import RELEASE, absent_modules, require_extras  # noqa: PLC0415
    from rocmatrix.signatures.trust import load_trust  # noqa: PLC0415
    from rocmatrix.signatures.verification import verify_bundle  # noqa: PLC0415

    if arguments.signer_sources and not arguments.signer:
        raise UsageError(
            "--signer-sources says for whom a signer signed, and no signer is named", fix="Give --signer PATTERN too."
        )
    if arguments.signer or arguments.trust_config:
        require_extras(verb, RELEASE)
    elif absent_modules(RELEASE):
        return None
    trusted = cache(lambda: load_trust(arguments.trust_config))
    if arguments.trust_config:
        trusted()
    policy = SignerPolicy(
        names=tuple(arguments.signer), issuer=arguments.signer_issuer, sources=arguments.signer_sources
    )
    wanted = policy if arguments.signer else None
    return SignatureCheck(verify=lambda bundle, content: verify_bundle(bundle, content, trusted()), wanted=wanted)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Download the kernel and audit each variant; exit 5 if one is not what it promises, or not signed as asked.

    With ``--load`` exit 5 also if one is not imported, and 3 if this machine lacks what an import needs.
    """
    from rocmatrix.audit.published import audit_published, parse_published  # noqa: PLC0415 - `--help` must not wait
    from rocmatrix.audit.torch_shelf import torch_reader  # noqa: PLC0415 - as above
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.records import Outcome  # noqa: PLC0415

    kernel = parse_published(arguments.kernel)
    require_sarif_place(arguments)
    require_python(arguments)
    with reporter_of(arguments) as reporter:
        audited = audit_published(
            kernel,
            only=tuple(arguments.only),
            max_bytes=arguments.max_mb * 1_000_000,
            emit=reporter.emit,
            torch=torch_reader(arguments.torch, reporter.emit),
            signatures=signature_check(arguments),
        )
        loaded = None
        try:
            loaded = load_as_asked(arguments, audited, reporter.emit)
        except RocmatrixError as err:
            if all(one.outcome is Outcome.PASSED for one in audited.audits):
                raise
            reporter.emit(Notice(level="warning", message=f"nothing was imported: {err.what}"))
    code = present_audit(arguments, loaded or audited)
    return _present_loads(arguments, loaded, code) if loaded else code


def require_python(arguments: argparse.Namespace) -> None:
    """Refuse a ``--load`` that names no program, before anything is downloaded.

    Raises:
        InputError: there is no such program.
    """
    if arguments.load is not None:
        from rocmatrix.releasing.loading import find_python  # noqa: PLC0415 - `--help` must not wait for it

        find_python(arguments.load)


def load_as_asked(arguments: argparse.Namespace, audited: PublishedAudit, emit: Emit) -> LoadedKernel | None:
    """Import the variants of an audited kernel if ``--load`` asks for it."""
    if arguments.load is None:
        return None
    from rocmatrix.machine.cache import cache_folder  # noqa: PLC0415 - `--help` must not wait for them
    from rocmatrix.releasing.loading import load_published  # noqa: PLC0415

    return load_published(audited, arguments.load, cache=cache_folder(), emit=emit)


def _present_loads(arguments: argparse.Namespace, loaded: LoadedKernel, code: ExitCode) -> ExitCode:
    """Show what was imported, and return the exit code: that of the audit, or 3 where an import was not decided."""
    from rocmatrix.releasing.load_model import LoadState  # noqa: PLC0415 - as above
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.load_view import load_annotations, show_loads  # noqa: PLC0415
    from rocmatrix.report.workflow_commands import in_actions  # noqa: PLC0415

    show_loads(loaded.load, make_console(sys.stderr if arguments.json else sys.stdout))
    if in_actions():
        for command in load_annotations(loaded.load):
            make_console(sys.stderr).print(command, soft_wrap=True)
    undecided = loaded.load.in_state(LoadState.UNDECIDED)
    return ExitCode.ENVIRONMENT if code is ExitCode.DONE and undecided else code


VERB = Verb(
    name="verify",
    summary="verify a published kernel on the Hub: digests, signature, binaries against metadata, all rules",
    declare=declare,
    execute=execute,
)
