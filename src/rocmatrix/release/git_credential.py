"""How git and git-lfs get the credential: asked for by their own protocol, answered from this process's memory.

The secret is in no argument, no environment, no configuration and no file on a disk. It lies in an anonymous file of
this process (memfd_create(2)), and is gone when the process is, however it ends. git's credential protocol is described
in git-credential(1) and gitcredentials(7); git-lfs 3.3 asks through git.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from rocmatrix.release.credentials import Credential

USER = "oauth2"
"""Hosts that take a token for a password take any name with it; GitLab wants this one for OAuth tokens."""


class CredentialHelper:
    """Answers for one host, as long as it is open."""

    def __init__(self, address: str, credential: Credential) -> None:
        """Keep the secret ready.

        Args:
            address: of the host; no other one is told the secret.
            credential: what it is.
        """
        parts = urlsplit(address)
        self._host = f"{parts.scheme}://{parts.netloc}"
        self._descriptor: int | None = None
        if credential.token is not None:
            self._descriptor = os.memfd_create("credential")
            os.write(self._descriptor, f"username={USER}\npassword={credential.token}\n".encode())

    def settings(self) -> Mapping[str, str]:
        """Return git's configuration, in this order: no helper but this one, which would store what it is told."""
        settings = {"credential.helper": ""}
        if self._descriptor is not None:
            place = f"/proc/{os.getpid()}/fd/{self._descriptor}"
            settings[f"credential.{self._host}.helper"] = f'!f() {{ if [ "$1" = get ]; then cat {place}; fi; }}; f'
        return settings

    def close(self) -> None:
        """Forget the secret."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
