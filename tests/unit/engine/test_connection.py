"""What answers where an engine should, and is none: one message, whatever it says."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocmatrix.engine.connection import connect
from rocmatrix.errors import MissingRequirementError


def _http(body: bytes, kind: str = "application/json", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _version(**fields: object) -> bytes:
    return _http(json.dumps({"Os": "linux", "Arch": "amd64", "ApiVersion": "1.41", **fields}).encode())


@contextmanager
def _answering(place: Path, answer: bytes) -> Iterator[str]:
    """Say the same to whoever connects to a socket."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if self.request.recv(4096):
                self.request.sendall(answer)

    with socketserver.ThreadingUnixStreamServer(str(place), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"unix://{place}"
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"\x00\x01\x02 SSH-2.0-OpenSSH\r\n\r\n", "no docker engine"),
        (_http(b"<html>welcome</html>", "text/html"), "no docker engine"),
        (_http(b"[1, 2]"), "no docker engine"),
        (_http(b'"hello"'), "no docker engine"),
        (_http(b"{}"), "no docker engine"),
        (_version(ApiVersion="new"), "no docker engine"),
        (_version(ApiVersion=None), "no docker engine"),
        (_http(b"nothing here", "text/plain", "404 Not Found"), "no docker engine"),
        (_version(ApiVersion="1.24"), "too old|another version"),
        (_version(Os="windows"), "containers of windows/amd64"),
    ],
    ids=["banner", "page", "list", "text", "nothing", "words", "null", "absent", "old", "windows"],
)
def test_what_is_no_engine_for_us_is_told(
    answer: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _answering(tmp_path / "docker.sock", answer) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        with pytest.raises(MissingRequirementError, match=said) as no:
            connect()
    assert address in str(no.value)
