"""One page over HTTP, from a server that nobody vouches for.

It may be slow, endless, cut off, compressed beyond measure, busy, or send its reader elsewhere. Each of these is a
reason in words; none costs more than the bytes and seconds that are allowed. The seconds of a whole page are the
caller's to watch (``survey_upstream``): a socket that yields a byte now and then looks alive from here.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from rocmatrix.plan.text import quote
from rocmatrix.toolchain.wheel import PipNetwork

if TYPE_CHECKING:
    import requests

LARGEST_PAGE = 16 * 1024 * 1024
"""Bytes; PyTorch's page of all torch wheels is the largest, a few megabytes by the form that its generator gives it."""

_MOST_REDIRECTS = 5
_MOST_TRIES = 3
_LONGEST_WAIT = 10.0
"""Seconds that a busy server may ask to wait before it is asked once more."""

_BLOCK = 64 * 1024
_TIMEOUT = (10.0, 20.0)
"""Seconds to connect, and between two blocks."""

_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}
_MOVED = {301, 302, 303, 307, 308}


class PageError(Exception):
    """No page that can be used; the text says why, in words of ours."""


@dataclass(frozen=True, kw_only=True)
class PageClient:
    """Reads pages the way pip reaches servers: environment and netrc, then pip's own configuration."""

    network: PipNetwork

    def read(self, url: str) -> str:
        """Return the text of a page.

        Raises:
            PageError: the server cannot be reached, refuses, is busy, sends its reader to another host, or sends too
                much, compressed or cut-off content.
        """
        import requests  # noqa: PLC0415 - only where something is fetched

        with requests.Session() as session:
            if bundle := self.network.certificate_bundle or os.environ.get("SSL_CERT_FILE"):
                session.verify = bundle
            if self.network.proxy:
                session.proxies = {"http": self.network.proxy, "https": self.network.proxy}
            try:
                return _text(_followed(session, url))
            except (requests.RequestException, ValueError) as err:  # requests fails so on a redirect it cannot read
                raise PageError(_reason(err)) from err


def _followed(session: requests.Session, url: str) -> bytes:
    """Return the body of a page, after redirects within its host."""
    for _ in range(_MOST_REDIRECTS + 1):
        with _patiently(session, url) as answer:
            if answer.status_code not in _MOVED:
                if answer.status_code != HTTPStatus.OK:
                    raise PageError(f"it answers {answer.status_code}")
                return _body(answer)
            there = _joined(url, answer.headers.get("Location", ""))
            url = there
    raise PageError(f"it redirects more than {_MOST_REDIRECTS} times")


def _joined(url: str, location: str) -> str:
    """Return where a redirect leads; only the same host is followed, by the same scheme or HTTPS."""
    try:
        there = urljoin(url, location)
        before, after = urlsplit(url), urlsplit(there)
        same = after.hostname == before.hostname and after.scheme in {before.scheme, "https"}
    except ValueError:  # e.g. an unclosed bracket where an IPv6 address is expected
        there, same = location, False
    if not same:
        raise PageError(f"it redirects to another host, {quote(there)}")
    return there


def _patiently(session: requests.Session, url: str) -> requests.Response:
    """Return an answer; a busy server is waited for as long as it asks, if that is not long."""
    for attempt in range(1, _MOST_TRIES + 1):
        answer = session.get(
            url, headers={"Accept-Encoding": "identity"}, stream=True, timeout=_TIMEOUT, allow_redirects=False
        )
        if answer.status_code not in _BUSY:
            return answer
        asked = answer.headers.get("Retry-After", "")
        wait = float(asked) if asked.isascii() and asked.isdigit() else float(attempt)  # too many digits are infinite
        answer.close()
        if attempt == _MOST_TRIES or wait > _LONGEST_WAIT:
            later = f", and asks to come back in more than {_LONGEST_WAIT:.0f} s" if wait > _LONGEST_WAIT else ""
            raise PageError(f"it is busy ({answer.status_code}){later}")
        time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _body(answer: requests.Response) -> bytes:
    if (encoding := answer.headers.get("Content-Encoding", "identity")) != "identity":
        raise PageError(f"it sends content as {quote(encoding)}, which was not asked for")
    body = bytearray()
    for block in answer.iter_content(_BLOCK):
        body += block
        if len(body) > LARGEST_PAGE:
            raise PageError(f"it sends more than {LARGEST_PAGE} bytes")
    return bytes(body)


def _text(body: bytes) -> str:
    """Return a page as text; its end must be there, since a list that is cut off looks like a short one."""
    text = body.decode("utf-8", "replace")
    if "</html>" not in text[-2000:].lower():
        raise PageError("its page is no HTML, or it is cut off")
    return text


def _reason(err: Exception) -> str:
    """Return what went wrong in few words: the names of requests' errors are good ones, their texts have addresses."""
    names = {
        "ConnectTimeout": "no connection within the time",
        "ReadTimeout": "no answer within the time",
        "SSLError": "its certificate is not trusted here",
        "ProxyError": "the proxy does not let us through",
        "ConnectionError": "no connection",
        "ChunkedEncodingError": "its page is cut off",
        "ValueError": "it redirects to another host, which cannot be read",
    }
    return names.get(type(err).__name__, f"no page ({type(err).__name__})")
