"""A server of index pages on this machine, in the form that PyTorch's and AMD's servers have, and one that misbehaves.

The form of PyTorch's page is that of its generator (pytorch/test-infra, ``manage_v2.py``: absolute links to another
host, ``%2B`` for the plus, hashes, attributes and a time stamp); AMD's are plain listings.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HASH = "0" * 64

Answer = Callable[[BaseHTTPRequestHandler], None]
"""Writes status, headers and body of one path."""


def torch_page(wheels: Iterable[str]) -> str:
    """Return PyTorch's page of torch wheels."""
    lines = [
        f'    <a href="https://elsewhere.invalid/whl/{name.replace("+", "%2B")}#sha256={HASH}" '
        f'data-dist-info-metadata="sha256={HASH}" data-core-metadata="sha256={HASH}">{name}</a><br/>'
        for name in wheels
    ]
    body = "\n".join(("<!DOCTYPE html>", "<html>", "  <body>", "    <h1>Links for torch</h1>", *lines))
    return f"{body}\n  </body>\n</html>\n<!--TIMESTAMP 1764460800-->"


def wheels(torch: str, rocm: str, pythons: Iterable[str] = ("310", "311", "312", "313", "314")) -> list[str]:
    """Return the names of the wheels of a release, with those for other machines beside them."""
    made = [f"torch-{torch}+rocm{rocm}-cp{one}-cp{one}-manylinux_2_28_x86_64.whl" for one in pythons]
    return [
        *made,
        f"torch-{torch}+rocm{rocm}-cp312-cp312-win_amd64.whl",
        f"torch-{torch}+cpu-cp312-cp312-linux_x86_64.whl",
    ]


def listing(names: Iterable[str]) -> str:
    """Return a web server's listing of a folder."""
    lines = "".join(f'<a href="{name}">{name}</a>    14-Jul-2026 10:00    -\n' for name in names)
    title = "Index of /rocm/"
    head = f'<html>\n<head><title>{title}</title></head>\n<body>\n<h1>{title}</h1><hr><pre><a href="../">../</a>\n'
    return f"{head}{lines}</pre><hr></body>\n</html>\n"


def page(text: str) -> Answer:
    """Answer with a page."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html; charset=utf-8")  # pip reads nothing else
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def status(code: int, **headers: str) -> Answer:
    """Answer with a status and headers (``_`` for ``-``), and no body."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def endless(block: bytes, pause: float = 0.0, *, head: bool = True) -> Answer:
    """Answer without end: big blocks at once, or a byte now and then; without ``head`` it never gets to a body."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if head:
            handler.send_response(200)
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.wfile.write(block)
            time.sleep(pause)

    return answer


def cut_off(text: str, *, announced: bool) -> Answer:
    """Answer with half of a page, its whole length announced or not."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(200)
        if announced:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])

    return answer


def raw(text: bytes) -> Answer:
    """Answer with bytes that are no HTTP."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(text)

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Answer the first time with the first, and so on; the last one stays."""
    left = list(answers)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return answer


@contextmanager
def serving(pages: dict[str, Answer]) -> Iterator[str]:
    """Serve answers by path; yield the address without a slash at its end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):
                pages.get(self.path, status(404))(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
