"""A small wheel, and servers of all tempers for it."""

import base64
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rocmatrix.toolchain.wheel import Wheel

NAME = "torch-9.9.9-cp311-cp311-manylinux_2_28_x86_64.whl"
HEADERS = {
    "torch/csrc/stable/tensor.h": b"// tensor\n",
    "torch/csrc/stable/c/shim.h": b"// shim\n" * 1000,
    "torch/headeronly/version.h": b"#define TORCH_VERSION_MAJOR 9\n",
    "torch/csrc/inductor/aoti_torch/c/shim.h": b"// c\n",
    "torch/csrc/inductor/aoti_torch/generated/c_shim_cuda.h": b"// generated\n",
}


def make_wheel(folder: Path, headers: dict[str, bytes] = HEADERS) -> Path:
    """Write a wheel that pip accepts: the headers, others that are not wanted, and a library of 3 MB."""
    info = "torch-9.9.9.dist-info"
    members = {f"torch/include/{name}": content for name, content in headers.items()}
    members["torch/include/ATen/ATen.h"] = b"// not for stable builds\n"
    members["torch/include/torch/csrc/inductor/aoti_torch/utils.h"] = b"// neither\n"
    members["torch/lib/libtorch_cpu.so"] = hashlib.shake_128(b"library").digest(3_000_000)
    members[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: torch\nVersion: 9.9.9\n"
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n"
    path = folder / NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torch/include/torch/headeronly/", b"")
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in members))
    return path


class Temper(Enum):
    """How a server treats requests for the wheel."""

    RANGES = "does range requests"
    NO_SUFFIX_RANGES_NO_HEAD = "does ranges from the start only, and no HEAD"
    WHOLE = "ignores the Range header"
    UNAUTHORIZED = "wants credentials"
    NOT_FOUND = "has it no longer"
    CUT = "closes the connection in the middle"
    DAMAGED = "sends other bytes"


@dataclass
class Served:
    """A server that runs: what it serves and how, its address, and the wheel requests that it answered."""

    content: bytes
    temper: Temper
    login: str | None
    url: str = ""
    requests: list[str] = field(default_factory=list)
    sent: int = 0

    def wheel(self, sha256: str) -> Wheel:
        return Wheel(url=f"{self.url}{NAME}", sha256=sha256, version="9.9.9")


class _Server(ThreadingHTTPServer):
    served: Served


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def served(self) -> Served:
        assert isinstance(self.server, _Server)
        return self.server.served

    def do_HEAD(self) -> None:
        self._refuse(405 if self.served.temper is Temper.NO_SUFFIX_RANGES_NO_HEAD else 200)

    def do_GET(self) -> None:
        if not self.path.endswith(".whl"):
            self._send(f'<a href="/{NAME}">{NAME}</a>'.encode(), 200, kind="text/html")
            return
        served, asked = self.served, self.headers.get("Range", "")
        served.requests.append(asked)
        if status := self._refusal(asked):
            self._refuse(status)
        elif asked and served.temper not in {Temper.WHOLE, Temper.CUT, Temper.DAMAGED}:
            self._send_range(asked)
        else:
            content = served.content[::-1] if served.temper is Temper.DAMAGED else served.content
            self._send(content, 200, cut=served.temper is Temper.CUT)

    def _refusal(self, asked: str) -> int | None:
        served = self.served
        if served.temper is Temper.NO_SUFFIX_RANGES_NO_HEAD and asked.startswith("bytes=-"):
            return 416
        if served.login and self.headers.get("Authorization") != _basic(served.login):
            return 401
        return {Temper.UNAUTHORIZED: 401, Temper.NOT_FOUND: 404}.get(served.temper)

    def _send_range(self, asked: str) -> None:
        content = self.served.content
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start = int(first) if first else len(content) - int(last)
        end = min(int(last), len(content) - 1) if first and last else len(content) - 1
        self._send(content[start : end + 1], 206, where=f"bytes {start}-{end}/{len(content)}")

    def _send(self, body: bytes, status: int, *, where: str = "", kind: str = "", cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if where:
            self.send_header("Content-Range", where)
        if kind:
            self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.served.sent += len(body)
        self.close_connection = self.close_connection or cut

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def serving(content: bytes, temper: Temper, *, login: str | None = None) -> Iterator[Served]:
    """Serve a wheel, and a page with a link to it, until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.served = Served(content, temper, login, url=f"http://127.0.0.1:{server.server_address[1]}/")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _basic(login: str) -> str:
    return "Basic " + base64.b64encode(login.encode()).decode()
