"""What went over the wire: one line a request, for people and for tests that count; never a header, never a body."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and its answer.

    Attributes:
        method: of HTTP.
        path: of the address, without the query, which may hold a signature.
        endpoint: name of the route; ``""`` if there is none.
        status: of the answer; 0 if none was sent.
        received: bytes of the request's body that were read.
        sent: bytes of the answer's body.
    """

    method: str
    path: str
    endpoint: str
    status: int
    received: int
    sent: int


class Traffic:
    """All exchanges since the server began, or since they were cleared.

    Attributes:
        tell: called with each exchange when it ended, before the client has the end of its answer.
    """

    def __init__(self, tell: Callable[[Exchange], None] | None = None) -> None:
        """Start with none.

        Args:
            tell: called with each exchange when it ended.
        """
        self._exchanges: list[Exchange] = []
        self._lock = threading.Lock()
        self.tell = tell

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All of them, in the order in which they ended."""
        with self._lock:
            return tuple(self._exchanges)

    def clear(self) -> None:
        """Forget them."""
        with self._lock:
            self._exchanges.clear()

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        with self._lock:
            self._exchanges.append(exchange)
        if self.tell:
            self.tell(exchange)


class Counting:
    """Middleware that counts."""

    def __init__(self, app: ASGIApp, traffic: Traffic, endpoint: Callable[[Scope], str]) -> None:
        """Wrap an application.

        Args:
            app: what answers.
            traffic: where exchanges go.
            endpoint: the name of the route of a request.
        """
        self._app = app
        self._traffic = traffic
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Counted(scope, receive, send)
        told = False

        def tell() -> None:
            nonlocal told
            if not told:
                told = True
                self._traffic.add(exchange.so_far(self._endpoint(scope)))

        try:
            await self._app(scope, exchange.receive, lambda message: exchange.send(message, tell))
        finally:
            tell()


class _Counted:
    """One request whose bytes are counted on their way."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin with none."""
        self._scope = scope
        self._receive = receive
        self._send = send
        self._received = self._sent = self._status = 0

    def so_far(self, endpoint: str) -> Exchange:
        """Return what went by until now."""
        return Exchange(
            method=self._scope["method"],
            path=self._scope["path"],
            endpoint=endpoint,
            status=self._status,
            received=self._received,
            sent=self._sent,
        )

    async def receive(self) -> Message:
        """Take a message of the client's."""
        message = await self._receive()
        self._received += len(message.get("body", b""))
        return message

    async def send(self, message: Message, at_end: Callable[[], None]) -> None:
        """Pass a message to the client; ``at_end`` is called before the last one is."""
        self._status = message.get("status", self._status)
        self._sent += len(message.get("body", b""))
        if message["type"] == "http.response.body" and not message.get("more_body"):
            at_end()  # before the client has it: who has an answer finds it counted
        await self._send(message)
