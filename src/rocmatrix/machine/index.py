"""Does the package index answer that pip is configured with?"""

from __future__ import annotations

import subprocess
import sys

from rocmatrix.machine.probe import Health, Probe, cause

ONLINE_TIMEOUT = 60.0
"""Seconds that the package index may take; pip itself retries within them."""


def package_index(*, online: bool) -> Probe:
    """Let pip ask the index that it is configured with for one small package, if that is allowed."""
    needed_by = "build and run: torch headers, the first time"
    name = "package index"
    if not online:
        return Probe(name=name, health=Health.SKIPPED, detail="not asked; --online asks it", needed_by=needed_by)
    command = ["-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--no-input", "packaging"]
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=ONLINE_TIMEOUT, check=False
        )
        said = done.stderr.strip().splitlines()
        answered, detail = done.returncode == 0, "answers" if done.returncode == 0 else (said or ["pip failed"])[-1]
    except (OSError, subprocess.SubprocessError) as err:
        answered, detail = False, cause(err)
    return Probe(
        name=name,
        health=Health.OK if answered else Health.MISSING,
        detail=detail,
        needed_by=needed_by,
        fix=None if answered else "Check the network and pip's configuration (`pip config list`).",
    )
