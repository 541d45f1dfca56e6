"""Time limits of huggingface_hub's requests: it has none itself, and its HTTP library only one for silence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """When a request is given up, in seconds.

    Attributes:
        silence: without a byte from or to the server.
        whole: until the last byte of the answer; a server that sends one now and then would hold a release for ever.
    """

    silence: float = 60.0
    whole: float = 1800.0


class _BoundedStream(httpx2.SyncByteStream):
    """The body of an answer, which has to be there in time."""

    def __init__(self, stream: httpx2.SyncByteStream, request: httpx2.Request, seconds: float) -> None:
        self._stream = stream
        self._request = request
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout(f"the answer was not there in {self._seconds:g} s", request=self._request)
            yield piece

    def close(self) -> None:
        self._stream.close()


def make_client(limits: RequestLimits) -> httpx2.Client:
    """Return a client with limits; a request beyond them fails with ``httpx2.ReadTimeout``, which may pass."""

    def bound(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _BoundedStream(response.stream, response.request, limits.whole)

    timeout = httpx2.Timeout(limits.silence)
    return httpx2.Client(follow_redirects=True, timeout=timeout, event_hooks={"response": [bound]})
