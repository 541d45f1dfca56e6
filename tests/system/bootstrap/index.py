"""A package index on the loopback device that serves what a test puts in, counts, and can hold a file back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

WAIT_SECONDS = 180.0


@dataclass
class Index:
    """What the server serves, and what happened.

    Attributes:
        files: wheel name -> content.
        requests: paths that were asked for, in order.
        held: name of the wheel whose second half waits for ``release``; empty: none.
        reached: set when the held wheel's first half was sent.
        release: set to send the rest.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    held: str = ""
    reached: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@contextmanager
def serve(index: Index) -> Iterator[Index]:
    """Serve the index until the block ends (the simple API of PEP 503)."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            index.requests.append(self.path)
            name = unquote(self.path.rstrip("/").rpartition("/")[2])
            if name in index.files:
                self._send(index.files[name], "application/octet-stream", hold=name == index.held)
                return
            wheels = [file for file in index.files if file.partition("-")[0] == name]
            links = "".join(f'<a href="/files/{file}">{file}</a>' for file in wheels)
            self._send(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html", hold=False)

        def _send(self, content: bytes, kind: str, *, hold: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "HEAD":
                return
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if hold:
                index.reached.set()
                index.release.wait(WAIT_SECONDS)
            try:
                self.wfile.write(content[half:])
            except OSError:  # the client was killed, which is what some tests are about
                self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    try:
        yield index
    finally:
        index.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
