"""What users get: the real client, asked for a published kernel on every machine that was promised one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocmatrix.errors import ReleaseError
from rocmatrix.release import user_process
from rocmatrix.release.resolver import require_client
from rocmatrix.release.serving import Pair

_SECONDS = 600
_SHOWN = 2000


@dataclass(frozen=True, kw_only=True)
class Got:
    """What the client did on one machine.

    Attributes:
        torch: torch minor of the machine.
        rocm: its ROCm minor.
        variant: the directory that was downloaded; ``None`` if none was.
        error: what the user saw instead.
    """

    torch: str
    rocm: str
    variant: str | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """Where a kernel is: address of the Hub, repository, and either a major version or another revision."""

    endpoint: str
    repository: str
    version: int | None = None
    revision: str | None = None


def ask_client(published: Published, machines: Iterable[Pair]) -> tuple[Got, ...]:
    """Let the real client download a kernel, in a process and a cache of its own, on machines that are only pretended.

    Raises:
        ReleaseError: the client's process did not come to an end in order.
        MissingRequirementError: the client is not installed.
    """
    require_client()
    wanted = tuple(machines)
    job = {
        "repository": published.repository,
        "version": published.version,
        "revision": published.revision,
        "machines": [{"torch": pair.torch, "rocm": pair.rocm} for pair in wanted],
    }
    with tempfile.TemporaryDirectory(prefix="rocmatrix-user-") as home:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "HF_HOME": home,
            "HF_ENDPOINT": published.endpoint,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        }
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(Path(user_process.__file__))],
                input=msgspec.json.encode(job),
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as err:
            raise ReleaseError(f"the client was not done in {_SECONDS} s", where=published.repository) from err
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(wanted):
        said = done.stderr.decode("utf-8", "replace").strip()[-_SHOWN:]
        raise ReleaseError(f"the client ended with {done.returncode}: {said}", where=published.repository)
    return tuple(msgspec.json.decode(line, type=Got) for line in lines)
