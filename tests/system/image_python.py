"""This Python, with all that it has installed, run inside an image: what that image's C and C++ libraries can load."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from docker import DockerClient

ROOT = Path(__file__).parents[2]


def run_in_image(
    client: DockerClient,
    image: str,
    arguments: Sequence[str],
    *,
    writable: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> tuple[int, str]:
    """Run this Python with arguments in a container without network; return its exit status and what it printed.

    The interpreter, its packages and rocmatrix's sources are mounted read-only where they are; an image whose C library
    is newer than this machine's can run them.
    """
    readable = {str(Path(sys.base_prefix).resolve()), str(Path(sys.prefix).resolve()), str(ROOT)}
    binds = [f"{path}:{path}:ro" for path in sorted(readable)] + [f"{path}:{path}" for path in writable]
    program = str(Path(sys.prefix) / "bin" / Path(sys.executable).name)
    container = client.containers.create(
        image,
        [program, *arguments],
        volumes=binds,
        network_mode="none",
        user=f"{os.getuid()}:{os.getgid()}",
        environment={"PYTHONPATH": f"{ROOT}/src:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
    )
    try:
        container.start()
        status = int(container.wait(timeout=timeout)["StatusCode"])
        return status, container.logs().decode(errors="replace")
    finally:
        container.remove(force=True)
