"""Which Sigstore is trusted: the public one, or one whose trust configuration somebody names."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.input_file import read_input

if TYPE_CHECKING:
    from sigstore.models import ClientTrustConfig

logging.getLogger("sigstore").addHandler(logging.NullHandler())
"""sigstore reports through ``logging`` what we say ourselves; without a handler it would reach the terminal."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Certificates, keys and addresses of a Sigstore, and what to call it.

    Attributes:
        config: as sigstore reads it.
        name: for people; it says where the newest keys could not be fetched.
    """

    config: ClientTrustConfig
    name: str


def load_trust(path: Path | None) -> Trust:
    """Return the trust configuration of a file, or that of the public Sigstore.

    The public one is refreshed from its repository of keys; where that cannot be reached, the keys count that came with
    the installed ``sigstore``, and the name says so.

    Args:
        path: a trust configuration (``application/vnd.dev.sigstore.clienttrustconfig.v0.1+json``); ``None`` for the
            public Sigstore.

    Raises:
        InputError: the file is none.
        MissingRequirementError: the extra ``release`` is not installed.
    """
    try:
        from sigstore import __version__  # noqa: PLC0415 - an extra, and heavy
        from sigstore.errors import Error, TUFError  # noqa: PLC0415
        from sigstore.models import ClientTrustConfig  # noqa: PLC0415
    except ImportError as err:
        raise MissingRequirementError(
            f"signatures need the package {err.name}", fix="Install it with: pip install 'rocmatrix[release]'"
        ) from err
    if path is not None:
        try:
            config = ClientTrustConfig.from_json(read_input(path).decode("utf-8"))
            _ = config.trusted_root, config.signing_config
        except (ValueError, Error) as err:
            said = str(err).partition("\n")[0][:200]
            fix = "Name a client trust configuration of Sigstore, version 0.1 (JSON)."
            raise InputError(f"this is no trust configuration: {said}", where=str(path), fix=fix) from err
        return Trust(config=config, name=f"the Sigstore of {path.name}")
    try:
        return Trust(config=ClientTrustConfig.production(), name="the public Sigstore")
    except TUFError:
        config = ClientTrustConfig.production(offline=True)
        name = f"the public Sigstore as sigstore {__version__} knows it: its newest keys could not be fetched"
        return Trust(config=config, name=name)
