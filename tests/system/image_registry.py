"""A real registry of images (Debian's docker-registry) on this machine, with nothing in it at first."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

REGISTRY_SECONDS = 30.0


@contextmanager
def running_registry(folder: Path, *, user: str | None = None) -> Iterator[str]:
    """Yield ``host:port`` of a registry that keeps its files in a folder.

    Args:
        folder: an empty one.
        user: ``name:hash`` as htpasswd's bcrypt writes it, of the only one who may read or write; anybody may without.
    """
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("there is no docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "config.yml"
    configuration.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n"
    )
    if user is not None:
        (folder / "users").write_text(f"{user}\n")
        with configuration.open("a") as more:
            more.write(f"auth: {{htpasswd: {{realm: tests, path: {folder}/users}}}}\n")
    with subprocess.Popen(
        (program, "serve", str(configuration)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + REGISTRY_SECONDS
        while True:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "docker-registry ended"
            assert time.monotonic() < deadline, "docker-registry does not answer"
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
        process.terminate()
