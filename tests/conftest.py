"""Groups of tests that not every machine can run: what they need, and what happens where it is missing.

A group is a marker of pyproject.toml. Where its need is missing its tests are skipped, and the end of the run names the
group, the number of tests and the reason; a group that was required (``--require-group NAME``, ``--require-all``) fails
instead, test by test, with the same reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import pytest
from hypothesis import settings

from tests.system.docker_bed import missing_debian_images, missing_docker
from tests.system.llvm_tools import missing_objdump

sys.setrecursionlimit(10_000)  # as tinygrad does when it is imported: hypothesis fails a test in which that happens
os.environ["HF_HUB_DISABLE_XET"] = "1"  # read when huggingface_hub is imported; the embedded Hub speaks LFS
_INDEX_SECONDS = 60.0

settings.register_profile("any machine", deadline=None)  # a busy machine is no fault: nothing is timed
settings.load_profile("any machine")


@cache
def missing_torch() -> str | None:
    """Return why there is no torch for tests, or ``None``."""
    try:
        version("torch")
    except PackageNotFoundError:
        return (
            os.environ.get("ROCMATRIX_NO_TORCH") or "torch is not installed (scripts/run_tests.py without --fast does)"
        )
    return None


@cache
def missing_triton() -> str | None:
    """Return why there is no Triton, or ``None``."""
    try:
        version("triton")
    except PackageNotFoundError:
        return "triton is not installed (scripts/run_tests.py without --fast does)"
    return None


@cache
def missing_llvm() -> str | None:
    """Return why the toolchain ``llvm`` cannot be used, or ``None``."""
    try:
        version("ziglang")
    except PackageNotFoundError:
        return "the package ziglang is not installed"
    return None


@cache
def missing_network() -> str | None:
    """Return why no package can be had from the index that pip is configured with, or ``None``."""
    options = ("--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--retries=0", "--disable-pip-version-check")
    command = [sys.executable, "-I", "-m", "pip", "install", *options, "iniconfig"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INDEX_SECONDS)
    except subprocess.TimeoutExpired:
        return f"pip's index gave no answer in {_INDEX_SECONDS:.0f} s"
    return None if run.returncode == 0 else f"pip's index does not answer: {run.stderr.strip().splitlines()[-1]}"


GROUPS: Mapping[str, Callable[[], str | None]] = {
    "needs_torch": missing_torch,
    "needs_triton": missing_triton,
    "needs_llvm": missing_llvm,
    "needs_llvm_objdump": missing_objdump,
    "needs_network": missing_network,
    "needs_docker": missing_docker,
    "needs_debian_images": missing_debian_images,
}

_MISSED = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocmatrix", "groups of tests that not every machine can run")
    group.addoption("--require-group", action="append", default=[], choices=[*GROUPS], help="fail where it cannot run")
    group.addoption("--require-all", action="store_true", help="require every group")
    group.addoption(
        "--long", action="store_true", help="run whole tables where a seeded part is the rule: hours, not minutes"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_MISSED] = Counter()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test whose group this machine cannot run."""
    required: list[str] = item.config.getoption("--require-group")
    for name, missing in GROUPS.items():
        if item.get_closest_marker(name) is None or (reason := missing()) is None:
            continue
        item.config.stash[_MISSED][name] += 1
        if item.config.getoption("--require-all") or name in required:
            pytest.fail(f"{name}: {reason}", pytrace=False)
        pytest.skip(f"{name}: {reason}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the groups that could not run, at the very end."""
    for name, number in sorted(config.stash[_MISSED].items()):
        terminalreporter.write_line(f"not run: {number} tests of group {name}: {GROUPS[name]()}")
