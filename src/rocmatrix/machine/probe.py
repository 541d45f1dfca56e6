"""What a probe is, and how probes run programs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from enum import StrEnum

TIMEOUT = 5.0
"""Seconds that one probe may take."""


class Health(StrEnum):
    """How a probe ended."""

    OK = "ok"
    LOW = "low"
    """It is there, and may not suffice."""
    MISSING = "missing"
    SKIPPED = "skipped"
    """Not looked at."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One thing that was looked for.

    Attributes:
        name: what was looked for.
        health: how it ended.
        detail: what was seen, one line.
        needed_by: verbs and options that need it, for people.
        fix: what to do where it is missing or low; ``None`` where it is fine.
        blocks_run: whether the main job cannot work without it.
    """

    name: str
    health: Health
    detail: str
    needed_by: str
    fix: str | None = None
    blocks_run: bool = False


def output(command: list[str]) -> str:
    """Return the first line that a command prints; empty if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(done.stdout.strip().splitlines()), "") if done.returncode == 0 else ""


def cause(error: BaseException) -> str:
    """Return what an exception says in one phrase; its class where it says nothing."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said or type(error).__name__
