"""``rocmatrix hub serve``: the embedded Hub, for rehearsals and for teams without a way out."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from rocmatrix.cli.options import Verb, named_path
from rocmatrix.errors import ExitCode, InputError, MissingRequirementError

_TOKEN_VARIABLE = "ROCMATRIX_HUB_TOKEN"  # noqa: S105 - the name of a variable
_TOKEN_FILE = "token"  # noqa: S105 - the name of a file
_LONGEST_TOKEN = 1024


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
    """Serve until interrupted."""
    try:
        from rocmatrix.hubserver.accounts import Accounts, Organization, User  # noqa: PLC0415 - an extra
        from rocmatrix.hubserver.app import make_app  # noqa: PLC0415
        from rocmatrix.hubserver.hub import Hub  # noqa: PLC0415
        from rocmatrix.hubserver.server import address_of, is_loopback, listen, make_server  # noqa: PLC0415
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
    token, source = _token(arguments.folder)
    organizations = (*arguments.organization, *arguments.trusted)
    user = User(name=arguments.user, token=token, organizations=organizations)
    accounts = Accounts((user,), tuple(Organization(name=name, trusted=True) for name in arguments.trusted))
    hub = Hub(arguments.folder, accounts)
    try:
        listening = listen(arguments.host, arguments.port)
        print(f"HF_ENDPOINT={address_of(listening)}", file=sys.stderr, flush=True)  # noqa: T201 - what a user copies
        print(f"the token of {arguments.user} is in {source}", file=sys.stderr, flush=True)  # noqa: T201
        make_server(make_app(hub)).run(sockets=[listening])
    finally:
        hub.close()
    return ExitCode.DONE


def _token(folder: Path) -> tuple[str, str]:
    """Return the token and where it is: the environment's, or one that only this user can read, made when needed.

    Raises:
        InputError: the token is not one.
    """
    named = os.environ.get(_TOKEN_VARIABLE)
    if named is not None:
        token, source = named, _TOKEN_VARIABLE
    else:
        path = folder / _TOKEN_FILE
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(f"hf_{secrets.token_urlsafe(24)}\n")
        token, source = path.read_text(encoding="utf-8").strip(), str(path)
    if not token.isascii() or not token.isprintable() or not 8 <= len(token) <= _LONGEST_TOKEN or " " in token:  # noqa: PLR2004
        raise InputError("the token is not 8 or more printable characters without spaces", where=source)
    return token, source


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
