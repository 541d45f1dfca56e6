"""The two-way connection to a command in a container, and the frames in which the engine sends what it prints."""

from __future__ import annotations

import os
import select
import socket
import ssl
import subprocess
from contextlib import suppress

_FRAME_HEADER = 8
_BLOCK = 65536


class Connection:
    """What docker-py gives for an attached stream, whichever way the engine is reached.

    docker-py reads such a stream without any time limit, and what an engine that was switched off will never send is
    waited for for ever; therefore it is read here, a bounded wait at a time.
    """

    def __init__(self, raw: object) -> None:
        """Take a ``SocketIO`` over a Unix or TCP socket, an ``SSLSocket``, or docker-py's socket to an ``ssh``."""
        self._raw = raw  # it keeps the response alive, and that the connection
        self._process: subprocess.Popen[bytes] | None = getattr(raw, "proc", None)
        self._socket: socket.socket = raw if isinstance(raw, socket.socket) else getattr(raw, "_sock")  # noqa: B009
        if self._process is None:
            self._socket.settimeout(None)

    def send(self, data: bytes) -> None:
        """Send bytes to the command's standard input.

        Raises:
            OSError: the connection is gone.
        """
        if self._process is not None:
            assert self._process.stdin is not None  # noqa: S101 - docker-py opens it with a pipe
            self._process.stdin.write(data)
            self._process.stdin.flush()
        else:
            self._socket.sendall(data)

    def receive(self, seconds: float) -> bytes | None:
        """Return what arrives within so many seconds: ``None`` for nothing yet, ``b""`` for the end."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return self._socket.recv(_BLOCK)
        number = self.fileno()
        if not select.select([number], [], [], max(seconds, 0))[0]:
            return None
        try:
            return os.read(number, _BLOCK) if self._process is not None else self._socket.recv(_BLOCK)
        except OSError:
            return b""

    def close(self) -> None:
        """End the connection, however many Python objects hold it."""
        with suppress(OSError, ValueError):
            if self._process is not None:
                self._process.terminate()
                self._process.wait()
            else:
                self._socket.shutdown(socket.SHUT_RDWR)
        for held in (self._raw, self._socket):
            if close := getattr(held, "close", None):
                with suppress(OSError):
                    close()

    def fileno(self) -> int:
        """Return the descriptor that can be read when something has arrived."""
        if self._process is None:
            return self._socket.fileno()
        assert self._process.stdout is not None  # noqa: S101 - docker-py opens it with a pipe
        return self._process.stdout.fileno()


class Frames:
    """Takes the bytes of an attached stream and gives what the command printed.

    The engine's API ("Attach to a container", stream format): a byte for the stream, three zero bytes, the payload's
    length as a 32-bit big-endian number, the payload. Standard output and error are put together in their order.
    """

    def __init__(self) -> None:
        """Nothing has arrived yet."""
        self._buffer = bytearray()

    def take(self, data: bytes) -> bytes:
        """Return the payloads that are complete with these bytes."""
        self._buffer += data
        printed = bytearray()
        start = 0
        while len(self._buffer) - start >= _FRAME_HEADER:
            size = int.from_bytes(self._buffer[start + 4 : start + _FRAME_HEADER], "big")
            end = start + _FRAME_HEADER + size
            if end > len(self._buffer):
                break
            printed += self._buffer[start + _FRAME_HEADER : end]
            start = end
        del self._buffer[:start]
        return bytes(printed)
