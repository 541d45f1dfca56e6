"""The server: a socket, and uvicorn on it until it is told to stop."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from rocmatrix.errors import InputError, MissingRequirementError

LOOPBACK = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 5
_BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 for any that is free.

    Raises:
        InputError: the address is not one of this machine, or is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) only on sockets that say they are TCP; else each answer waits 40 ms for an ACK
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError as err:
        made.close()
        raise InputError(
            f"cannot listen on {host} port {port}: {err.strerror or err}",
            fix="Give another --port, or 0 for any that is free.",
        ) from err
    return made


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(listening: socket.socket) -> str:
    """Return the address that clients are given as ``HF_ENDPOINT``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: ASGIApp) -> uvicorn.Server:
    """Return the server of an application, silent and not yet started."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            http="h11",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
    )


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that answers.

    Attributes:
        endpoint: its address.
    """

    endpoint: str


@contextmanager
def running(app: ASGIApp, *, host: str = LOOPBACK, port: int = 0) -> Iterator[Running]:
    """Serve from a thread of this process while the block runs.

    Raises:
        InputError: the address cannot be listened on.
        MissingRequirementError: the server did not start.
    """
    listening = listen(host, port)
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True, name="embedded Hub")
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    try:
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise MissingRequirementError("the embedded Hub did not start", fix="Try again, or use another Hub.")
            time.sleep(0.01)
        yield Running(endpoint=address_of(listening))
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
