"""Faults on purpose, for tests: what networks and servers do to clients, per endpoint and count."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import anyio
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class FaultKind(StrEnum):
    """What goes wrong."""

    RESET = "reset"
    """The connection breaks before the request is looked at."""
    RESET_BODY = "reset-body"
    """The connection breaks in the middle of the answer."""
    REPLY_LOST = "reply-lost"
    """The request is done, and the connection breaks before its answer."""
    TRUNCATED = "truncated"
    """The answer's body is half as long as it says, and the connection is closed in order."""
    DELAY = "delay"
    """The answer comes late."""
    STATUS = "status"
    """The request is refused with a status."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        endpoint: name of the route, ``"*"`` for all.
        kind: what goes wrong.
        count: for how many requests.
        skip: how many requests of that endpoint go well before.
        status: for ``STATUS``.
        headers: for ``STATUS``, for example ``Retry-After`` in seconds.
        document: for ``STATUS``: what is answered instead of an error's sentence.
        seconds: for ``DELAY``.
    """

    endpoint: str
    kind: FaultKind
    count: int = 1
    skip: int = 0
    status: int = 503
    headers: Mapping[str, str] | None = None
    document: object = None
    seconds: float = 0.0


class Faults:
    """The faults that are still to come."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._planned: list[tuple[Fault, int]] = []
        self._seen: list[Fault] = []

    def plan(self, *faults: Fault) -> None:
        """Let these happen, beside those that were planned before."""
        with self._lock:
            self._planned += [(fault, 0) for fault in faults]

    def clear(self) -> None:
        """Let none happen any more."""
        with self._lock:
            self._planned.clear()
            self._seen.clear()

    @property
    def happened(self) -> tuple[Fault, ...]:
        """What did happen, in order."""
        with self._lock:
            return tuple(self._seen)

    def take(self, endpoint: str) -> Fault | None:
        """Return the fault that a request of this endpoint meets, and count it."""
        with self._lock:
            for index, (fault, met) in enumerate(self._planned):
                if fault.endpoint not in {"*", endpoint} or met >= fault.skip + fault.count:
                    continue
                self._planned[index] = (fault, met + 1)
                if met >= fault.skip:
                    self._seen.append(fault)
                    return fault
        return None


class Faulty:
    """Middleware that lets faults happen; outermost, because a broken connection needs the server's own ``send``."""

    def __init__(self, app: ASGIApp, faults: Faults, endpoint: Callable[[Scope], str]) -> None:
        """Wrap an application."""
        self._app = app
        self._faults = faults
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless a fault is planned for it."""
        fault = self._faults.take(self._endpoint(scope)) if scope["type"] == "http" else None
        if fault is None:
            await self._app(scope, receive, send)
        elif fault.kind is FaultKind.RESET:
            _break_connection(send)
        elif fault.kind is FaultKind.DELAY:
            await anyio.sleep(fault.seconds)
            await self._app(scope, receive, send)
        elif fault.kind is FaultKind.STATUS:
            document = fault.document or {"error": "a fault on purpose"}
            await JSONResponse(document, status_code=fault.status, headers=fault.headers)(scope, receive, send)
        elif fault.kind is FaultKind.REPLY_LOST:
            await self._app(scope, receive, _swallow)
            _break_connection(send)
        else:
            await self._cut(scope, receive, send, reset=fault.kind is FaultKind.RESET_BODY)

    async def _cut(self, scope: Scope, receive: Receive, send: Send, *, reset: bool) -> None:
        """Send the head and the first half of the first piece of the body, and no more."""
        cut = False

        async def half(message: Message) -> None:
            nonlocal cut
            body = message.get("body", b"")
            if cut or (message["type"] == "http.response.body" and not body):
                return
            if message["type"] == "http.response.start":
                await send(message)
                return
            cut = True
            await send({**message, "body": body[: len(body) // 2], "more_body": True})

        await self._app(scope, receive, half)
        _break_connection(send, abort=reset)


async def _swallow(message: Message) -> None:
    del message


def _break_connection(send: Send, *, abort: bool = True) -> None:
    """Close the connection under a response: uvicorn's own ``send`` is a method of what holds the transport."""
    transport = send.__self__.transport  # type: ignore[attr-defined]
    if abort:
        transport.abort()
    else:
        transport.close()
