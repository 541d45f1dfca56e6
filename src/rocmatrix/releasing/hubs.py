"""Which Hub: one by its address, or one on this machine that runs as long as it is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from rocmatrix.errors import InputError, MissingRequirementError, ReleaseError, RocmatrixError
from rocmatrix.plan.text import quote
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import Hub, MovedError
from rocmatrix.releasing.model import EMBEDDED
from rocmatrix.releasing.transport import KERNELS, Transport, default_address, find_for, speaking

_NOBODY = Credential(token=None, source="none")


@contextmanager
def changing_hub(
    hub: str | None, repository: str, transport: Transport, *, anonymous: bool = False
) -> Iterator[tuple[Hub, Credential]]:
    """Yield a Hub that is going to be changed, and the credential for it.

    Args:
        hub: as in ``Options``.
        repository: which one, for an embedded Hub: its user owns the namespace.
        transport: how it is spoken to.
        anonymous: whether it is done without a credential.

    Raises:
        RocmatrixError: it is no address, or there is no credential.
    """
    with address_of(hub or default_address(transport), repository, transport) as (address, own):
        credential = own or (_NOBODY if anonymous else find_for(transport, address))
        if own and transport is Transport.GIT:
            _make_repository(address, own, repository)
        with speaking(transport, address, credential) as there:
            yield there, credential


@contextmanager
def open_hub(hub: str | None, repository: str, transport: Transport = Transport.API) -> Iterator[Hub]:
    """Yield a Hub for looking only: a token is used if there is one, and not needed.

    Raises:
        MissingRequirementError: what answers there is no Hub, or it does not let this user look.
    """
    with address_of(hub or default_address(transport), repository, transport) as (address, own):
        try:
            with speaking(transport, address, own or _credential_if_any(transport, address)) as there:
                yield there
        except ReleaseError as err:  # nothing is released here: what stops a look is the way to the Hub, or the token
            fix = "Check --hub or HF_ENDPOINT, and that the token may read it (`hf auth login`, or HF_TOKEN)."
            raise MissingRequirementError(err.what, where=err.where, fix=fix) from err


def _credential_if_any(transport: Transport, address: str) -> Credential:
    try:
        return find_for(transport, address)
    except RocmatrixError:
        return _NOBODY  # what is public can be looked at without one


def _make_repository(address: str, own: Credential, repository: str) -> None:
    """Make a repository of an embedded Hub by its API, unless it is there: git cannot."""
    with speaking(Transport.API, address.removesuffix(KERNELS), own) as api, suppress(MovedError):
        api.create_repository(repository)


@contextmanager
def address_of(
    hub: str, repository: str, transport: Transport = Transport.API
) -> Iterator[tuple[str, Credential | None]]:
    """Yield the address of a Hub; an embedded one runs while the block does, and comes with its own credential.

    Raises:
        InputError: it is no address.
    """
    if hub == EMBEDDED:
        with embedded(repository.partition("/")[0], embedded_folder()) as (endpoint, own):
            yield (endpoint + KERNELS if transport is Transport.GIT else endpoint), own
    else:
        yield checked_address(hub), None


def checked_address(hub: str) -> str:
    """Return the address of a Hub without a slash at the end.

    Raises:
        InputError: it is no address, or holds a secret: addresses are shown and written down.
    """
    try:
        parts = urlsplit(hub)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, or brackets that do not match
        good = False
    if not good or not hub.isprintable() or " " in hub or parts.query or parts.fragment:
        raise InputError(
            f"{quote(hub.rpartition('@')[2])} is no address of a Hub",
            where="--hub",
            fix="Give http(s)://… or `embedded`.",
        )
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "an address of a Hub holds no user or password",
            where="--hub",
            fix="Set HF_TOKEN, for another host by git ROCMATRIX_GIT_TOKEN, or use another credential.",
        )
    return hub.rstrip("/")


@contextmanager
def embedded(namespace: str, folder: Path) -> Iterator[tuple[str, Credential]]:
    """Run an embedded Hub over a folder, whose only user owns a namespace.

    Raises:
        MissingRequirementError: the extra ``hub`` is not installed.
    """
    try:
        from rocmatrix.hubserver.accounts import Accounts, User  # noqa: PLC0415 - an extra
        from rocmatrix.hubserver.app import make_app  # noqa: PLC0415
        from rocmatrix.hubserver.hub import Hub  # noqa: PLC0415
        from rocmatrix.hubserver.server import running  # noqa: PLC0415
        from rocmatrix.hubserver.token import token_of  # noqa: PLC0415
    except ImportError as err:
        raise MissingRequirementError(
            f"the embedded Hub needs the package {err.name}", fix="Install it with: pip install 'rocmatrix[hub]'"
        ) from err
    token, source = token_of(folder)
    hub = Hub(folder, Accounts((User(name="author", token=token, organizations=(namespace,)),)))
    try:
        with running(make_app(hub)) as server:
            yield server.endpoint, Credential(token=token, source=source)
    finally:
        hub.close()


def embedded_folder() -> Path:
    """Return where the embedded Hub keeps its repositories: ``ROCMATRIX_HUB``, or the system's place for data."""
    named = os.environ.get("ROCMATRIX_HUB")
    return Path(named).absolute() if named else platformdirs.user_data_path("rocmatrix") / "hub"
