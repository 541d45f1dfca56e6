"""The connection to a docker engine, and every way in which it fails as one message for people.

Which engine: ``DOCKER_HOST`` with ``DOCKER_TLS_VERIFY`` and ``DOCKER_CERT_PATH``, else the docker command line's
current context (``DOCKER_CONTEXT`` or ``currentContext`` of its configuration), else ``/var/run/docker.sock``:
docker-py reads all of these as the command line does. ``ssh://`` goes through the user's own ``ssh``, so that keys,
known hosts and jump hosts are those that ``docker`` uses.

Every container and volume that rocmatrix makes in an engine carries labels (``labels_of``) that say which process made
it, so that what a killed process left can be told from what a living one uses. Images outlive processes and have
labels of their own (``rocmatrix.images``).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocmatrix.engine.owner import this_process
from rocmatrix.errors import MissingRequirementError

if TYPE_CHECKING:
    from docker import DockerClient

OWNER_LABEL = "rocmatrix.owner"
"""Label with the process that made an object; see ``rocmatrix.engine.owner``."""

ROLE_LABEL = "rocmatrix.role"
"""Label with what a container or volume is for: ``builder``, ``porter``, ``kept``."""

OLDEST_API = "1.41"
"""Oldest version of the engine's API: docker 20.10 of December 2020, the oldest that rocmatrix is tested with."""

ANSWER_SECONDS = 60
"""Seconds within which the engine must begin to answer a request that does not wait for anything."""

_DEFAULT_HOST = "unix:///var/run/docker.sock"
_CONNECTIONS = 64


def connect(*, timeout: int = ANSWER_SECONDS) -> DockerClient:
    """Return a client of the engine that this machine is configured for, after it has answered.

    Raises:
        MissingRequirementError: there is no engine, it may not be used, it does not answer, is too old, or runs no
            Linux containers of x86-64.
    """
    import docker  # noqa: PLC0415 - slow to import, and only containers need it

    with docker_errors("connecting to the docker engine"):
        _require_ssh()
        _try_socket()
        try:
            client = docker.from_env(timeout=timeout, max_pool_size=_CONNECTIONS, use_ssh_client=True)
            version = client.version()
        except (ValueError, KeyError, TypeError, AttributeError) as err:  # docker-py takes the answer for an engine's
            raise MissingRequirementError(_NO_ENGINE, where=engine_name(), fix=_START) from err
    _require(client, str(version.get("Os")), str(version.get("Arch")), str(version.get("ApiVersion")))
    return client


def engine_name() -> str:
    """Return the address of the engine as people know it, without a password."""
    host = os.environ.get("DOCKER_HOST")
    if not host:
        host = _context_host() or _DEFAULT_HOST
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1:***@", host)


def labels_of(role: str, **more: str) -> dict[str, str]:
    """Return the labels of an object that this process makes: owner, role and ``rocmatrix.NAME`` for each of ``more``.

    A label is readable by everybody who may use the engine: no secrets, no paths of this machine.
    """
    named = {f"rocmatrix.{name.replace('_', '-')}": value for name, value in more.items()}
    return {OWNER_LABEL: str(this_process()), ROLE_LABEL: role, **named}


@contextmanager
def docker_errors(doing: str) -> Iterator[None]:
    """Turn what docker-py raises into one message; ``doing`` is what was tried, e.g. ``starting a container``.

    Raises:
        MissingRequirementError: the engine refused, went away or does not answer.
    """
    import requests  # noqa: PLC0415 - a dependency of docker-py
    from docker.errors import DockerException  # noqa: PLC0415

    try:
        yield
    except (DockerException, requests.exceptions.RequestException, OSError) as err:
        raise translated(err, doing) from err


def translated(err: Exception, doing: str) -> MissingRequirementError:
    """Return what an exception of docker-py means to the person who can mend it."""
    text = _whole_text(err)
    where = engine_name()
    for pattern, what, fix in _MEANINGS:
        if match := re.search(pattern, text, re.IGNORECASE):
            return MissingRequirementError(f"{what.format(*match.groups())} ({doing})", where=where, fix=fix)
    return MissingRequirementError(
        f"the docker engine failed while {doing}: {_explanation(err)}",
        where=where,
        fix="See what `docker info` and the engine's own log say, then run the same command again.",
    )


_START = "Start it (`systemctl start docker`), or set DOCKER_HOST to one that runs; `docker info` shows what answers."
_NO_ENGINE = "what answers is no docker engine"
_NO_ANSWER = (
    r"BadStatusLine|JSONDecodeError|Expecting value|LineTooLong|indices must be|Invalid response from docker"
    r"|Version parameter must be|API version: 404 "
)
"""What docker-py says of an answer that is no engine's: no HTTP, a page, or without what an engine says of itself."""
_MEANINGS = (
    (
        r"Permission denied|EACCES",
        "this user may not use the socket of the docker engine",
        "Add the user to the group that owns it (`usermod -aG docker NAME`, log in anew), or use a rootless engine.",
    ),
    (
        r"no space left on device",
        "the disk of the docker engine is full",
        "Free space where the engine keeps its data (`docker system df`), then run the same command again.",
    ),
    (
        r"No such image: (\S+?)[\"')]*(?:\s|$)|No such image",
        "the docker engine does not have the image",
        "Build it with `rocmatrix images build`.",
    ),
    (
        r"FileNotFoundError|No such file or directory.*sock|Connection refused|NotADirectoryError",
        "no docker engine is running",
        _START,
    ),
    (
        r"Install paramiko",
        "DOCKER_HOST names an ssh host, for which the package paramiko is missing",
        "Install it with: pip install 'docker[ssh]'",
    ),
    (
        r"API versions? below|client version [\d.]+ is too (?:old|new)",
        "the docker engine speaks another version of the API",
        f"Use docker 20.10 (API {OLDEST_API}) or newer.",
    ),
    (
        r"Name or service not known|Temporary failure in name resolution|nodename nor servname|getaddrinfo",
        "the host of the docker engine is not known",
        "Correct DOCKER_HOST.",
    ),
    (
        r"certificate|SSLError|TLS ?handshake|HTTP request to an HTTPS server|wrong version number",
        "the docker engine and this machine do not agree on TLS",
        "See to DOCKER_TLS_VERIFY, DOCKER_CERT_PATH (ca.pem, cert.pem, key.pem) and the port in DOCKER_HOST.",
    ),
    (
        r"Invalid bind address|fd protocol|npipe",
        "the address of the docker engine is not one",
        "Write it as unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST in DOCKER_HOST.",
    ),
    (
        r"Broken pipe|BrokenPipe",
        "the connection to the docker engine broke, which over ssh means that ssh could not log in",
        "See whether `docker info` works; over ssh, whether `ssh HOST docker version` does without a question.",
    ),
    (
        _NO_ANSWER,
        _NO_ENGINE,
        "Correct DOCKER_HOST; `docker info` shows what answers.",
    ),
    (
        r"RemoteDisconnected|Connection aborted|ConnectionReset|Connection reset|IncompleteRead|closed connection",
        "the docker engine went away, or ssh could not log in",
        "See whether `docker info` works (over ssh: `ssh HOST docker version`), then run the same command again.",
    ),
    (
        r"Read timed out|timed out|TimeoutError",
        "the docker engine does not answer in time",
        "See what it is busy with (`docker ps`, its log), then run the same command again.",
    ),
)
"""Pattern in the texts of an exception and its causes, what happened, and what to do; the first that matches counts."""


def _whole_text(err: BaseException | None) -> str:
    """Return the texts of an exception and of all that caused it: docker-py and urllib3 wrap the cause."""
    parts: list[str] = []
    seen: set[int] = set()
    while err is not None and id(err) not in seen:
        seen.add(id(err))
        parts.append(f"{type(err).__name__}: {err}")
        err = err.__cause__ or err.__context__
    return "\n".join(parts)


def _explanation(err: Exception) -> str:
    """Return what the engine itself said, in one line."""
    said = getattr(err, "explanation", None) or str(err) or type(err).__name__
    return " ".join(str(said).split())


def _require(client: DockerClient, system: str, machine: str, api: str) -> None:
    """Refuse an engine that cannot run what is built here."""
    if tuple(map(int, api.split("."))) < tuple(map(int, OLDEST_API.split("."))):
        client.close()
        raise MissingRequirementError(
            f"the docker engine speaks API {api}, which is too old",
            where=engine_name(),
            fix=f"Use docker 20.10 (API {OLDEST_API}) or newer.",
        )
    if (system, machine) != ("linux", "amd64"):
        client.close()
        raise MissingRequirementError(
            f"the docker engine runs containers of {system}/{machine}, and ROCm is for linux/amd64",
            where=engine_name(),
            fix="Set DOCKER_HOST to an engine on Linux x86-64.",
        )


def _require_ssh() -> None:
    if engine_name().startswith("ssh://") and shutil.which("ssh") is None:
        raise MissingRequirementError(
            "DOCKER_HOST names an ssh host, and there is no program ssh",
            where=engine_name(),
            fix="Install OpenSSH's client (Debian: openssh-client).",
        )


def _try_socket() -> None:
    """Open the engine's socket once, where it is one: docker-py leaves a socket open when that fails."""
    host = engine_name()
    if host.startswith("unix:///"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
            trial.settimeout(ANSWER_SECONDS)
            trial.connect(host.removeprefix("unix://"))


def _context_host() -> str | None:
    """Return the address in the docker command line's current context, if there is one that can be read."""
    from docker.context import ContextAPI  # noqa: PLC0415
    from docker.errors import DockerException  # noqa: PLC0415

    try:
        found = ContextAPI.kwargs_from_context(environment=os.environ)
    except (DockerException, OSError, ValueError, KeyError):  # connect() says what is wrong with it
        return None
    return str(found["base_url"]) if found.get("base_url") else None
