"""Damaged and hostile binaries: facts or a reason, in bounded time and memory, and never anything else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.fuzz.binaries import Report
from tests.fuzz.hostile import HOSTILE
from tests.system.conftest import ROOT
from tests.unit.binary.test_elf import FOREIGN

SECONDS = 6
LONG_SECONDS = 900
MEMORY = 1 << 30
"""Address space that the process may have on top of what it begins with: most of it is for one large code object."""


def run(tmp_path: Path, *options: str) -> Report:
    """Fuzz in a process of its own, whose memory is limited."""
    files = sorted(FOREIGN, key=lambda path: path.stat().st_size)[:4]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."])}
    command = [sys.executable, "-m", "tests.fuzz.binaries", f"--failures={tmp_path}", f"--memory={MEMORY}", *options]
    done = subprocess.run(
        [*command, *map(str, files)], cwd=ROOT, env=environment, capture_output=True, check=False, timeout=3600
    )
    assert done.stdout, done.stderr.decode()[-4000:]
    return msgspec.json.decode(done.stdout, type=Report)


def test_hostile_files_are_refused_or_read_within_a_gigabyte_and_ten_seconds_each(tmp_path: Path) -> None:
    report = run(tmp_path, "--hostile", "--seconds=0")
    assert report.failures == []
    assert sum(report.reads.values()) > len(HOSTILE)


def test_damaged_files_never_raise(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    seconds = LONG_SECONDS if pytestconfig.getoption("--long") else SECONDS
    report = run(tmp_path, f"--seconds={seconds}")
    assert report.failures == []
    assert min(report.reads["read"], report.reads["refused"]) > 10  # both ends are reached
