"""``rocmatrix hub serve``: the embedded Hub, for rehearsals and for teams without a way out."""

from __future__ import annotations

import argparse
import sys

from rocmatrix.cli.options import Verb, named_path
from rocmatrix.errors import ExitCode, InputError, MissingRequirementError
from rocmatrix.plan.text import quote


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("action", choices=("serve",), help="serve the folder until interrupted")
    parser.add_argument("folder", type=named_path, metavar="DIR", help="where repositories are kept; made if missing")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="0: any that is free (default: %(default)s)")
    parser.add_argument(
        "--user", default="author", metavar="NAME", help="who the token belongs to (default: %(default)s)"
    )
    parser.add_argument(
        "--organization", action="append", default=[], metavar="NAME", help="a namespace that the user may write to"
    )
    parser.add_argument(
        "--trusted", action="append", default=[], metavar="NAME", help="an organization whose kernels clients trust"
    )
    parser.add_argument(
        "--beyond-this-machine", action="store_true", help="allow a --host that other machines reach; there is no TLS"
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Serve until interrupted: SIGINT and SIGTERM are its ordinary end, exit 0."""
    try:
        from rocmatrix.hubserver.accounts import Accounts, Organization, User  # noqa: PLC0415 - an extra
        from rocmatrix.hubserver.app import make_app  # noqa: PLC0415
        from rocmatrix.hubserver.hub import Hub  # noqa: PLC0415
        from rocmatrix.hubserver.names import is_name  # noqa: PLC0415
        from rocmatrix.hubserver.server import address_of, is_loopback, listen, make_server  # noqa: PLC0415
        from rocmatrix.hubserver.token import token_of  # noqa: PLC0415
    except ImportError as err:
        raise MissingRequirementError(
            f"the embedded Hub needs the package {err.name}", fix="Install it with: pip install 'rocmatrix[hub]'"
        ) from err
    if not is_loopback(arguments.host) and not arguments.beyond_this_machine:
        raise InputError(
            f"{arguments.host} is reached by other machines, and there is no TLS here",
            where="--host",
            fix="Say --beyond-this-machine if that is meant, behind a proxy that has TLS.",
        )
    organizations = (*arguments.organization, *arguments.trusted)
    for name in (arguments.user, *organizations):
        if not is_name(name):
            raise InputError(
                f"{quote(name)} is no name", where="--user, --organization, --trusted", fix="Use letters, digits and -."
            )
    token, source = token_of(arguments.folder)
    user = User(name=arguments.user, token=token, organizations=organizations)
    accounts = Accounts((user,), tuple(Organization(name=name, trusted=True) for name in arguments.trusted))
    hub = Hub(arguments.folder, accounts)
    try:
        listening = listen(arguments.host, arguments.port)
        print(f"HF_ENDPOINT={address_of(listening)}", file=sys.stderr, flush=True)  # noqa: T201 - what a user copies
        print(f"the token of {arguments.user} is in {source}", file=sys.stderr, flush=True)  # noqa: T201
        make_server(make_app(hub)).run(sockets=[listening])
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr, flush=True)  # noqa: T201 - being interrupted is how a server ends
    finally:
        hub.close()
    return ExitCode.DONE


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


VERB = Verb(
    name="hub",
    summary="serve: an embedded Hub for rehearsals and for teams without a way to the public one",
    declare=declare,
    execute=execute,
)
