"""The embedded Hub for tests: in this process, so that faults can be planned and traffic counted."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from huggingface_hub import HfApi

from rocmatrix.hubserver.accounts import Accounts, Organization, Role, User
from rocmatrix.hubserver.app import make_app
from rocmatrix.hubserver.faults import Faults
from rocmatrix.hubserver.hub import Hub, Limits
from rocmatrix.hubserver.publishers import Publishers
from rocmatrix.hubserver.server import running
from rocmatrix.hubserver.traffic import Traffic

WRITER, READER, STRANGER = "hf_writerWRITERwriter", "hf_readerREADERreader", "hf_strangerSTRANGER"
OWNER, TRUSTED = "acme", "trusted"
ACCOUNTS = (
    User(name="ann", token=WRITER, organizations=(OWNER, TRUSTED)),
    User(name="bob", token=READER, role=Role.READ, organizations=(OWNER,)),
    User(name="eve", token=STRANGER, may_create_kernels=False),
)


@dataclass(frozen=True, kw_only=True)
class RunningHub:
    """A Hub that answers.

    Attributes:
        endpoint: its address.
        hub: its state.
        faults: what will go wrong.
        traffic: what was asked.
        home: an empty folder for a client's cache and settings.
    """

    endpoint: str
    hub: Hub
    faults: Faults
    traffic: Traffic
    home: Path = field(repr=False)

    def api(self, token: str | None = WRITER) -> HfApi:
        """Return a client with a token; ``None`` for none at all."""
        return HfApi(endpoint=self.endpoint, token=token or False)

    def environment(self, token: str | None = None) -> dict[str, str]:
        """Return the environment of a client's process: nothing of the caller's but how to find programs."""
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "HF_HOME": str(self.home / "hf"),
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            **({"HF_TOKEN": token} if token else {}),
        }


@contextmanager
def serving(
    folder: Path, *, limits: Limits | None = None, publishers: Publishers | None = None
) -> Iterator[RunningHub]:
    """Serve a folder while the block runs."""
    accounts = Accounts(ACCOUNTS, (Organization(name=TRUSTED, trusted=True),))
    hub = Hub(folder / "hub", accounts, limits)
    faults, traffic = Faults(), Traffic()
    home = folder / "home"
    home.mkdir(exist_ok=True)
    try:
        with running(make_app(hub, traffic=traffic, faults=faults, publishers=publishers)) as server:
            yield RunningHub(endpoint=server.endpoint, hub=hub, faults=faults, traffic=traffic, home=home)
    finally:
        hub.close()
