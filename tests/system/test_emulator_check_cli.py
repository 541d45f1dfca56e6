"""``rocmatrix check`` as it is typed: where, how much, on which device, and what it says to bad input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix.errors import ExitCode
from tests.system.conftest import ROOT, MainJob

pytestmark = [pytest.mark.needs_llvm, pytest.mark.needs_network]

SECONDS = 300.0


@pytest.fixture(scope="module")
def out(main_job: MainJob, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the main job made, to check again."""
    return shutil.copytree(main_job.store.root, tmp_path_factory.mktemp("again") / "dist")


def check(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "rocmatrix", "check", "--matrix", str(ROOT / "matrix.yaml"), "--out", str(out)]
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )


def refused(done: subprocess.CompletedProcess[str], code: ExitCode, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_gpu_is_refused_plainly_and_nothing_is_checked_instead(out: Path) -> None:
    refused(check(out, "--on", "gpu"), ExitCode.ENVIRONMENT, "--on gpu", "no AMD GPU", "--on emulator")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "mi250"), ("mi250", "mi300x, mi300a, mi308x, mi300x-cpx")),
        (("--budget", "much"), ("'much' is neither `all` nor a positive number of GFLOP",)),
        (("--budget", "0"), ("'0' is neither",)),
        (("--seed", "-1"), ("not a whole number from 0",)),
        (("--on", "cpu"), ("auto", "emulator", "gpu")),
        (("--gpu", "first"), ("'first' is not a whole number from 0",)),
        (("--image", ""), ("'' is not the name of an image",)),
        (("--image", "-it"), ("expected one argument",)),
    ],
)
def test_bad_input_gets_one_message(out: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    refused(check(out, *arguments), ExitCode.INPUT, *words)


def test_a_small_budget_names_what_it_left_out_and_a_device_is_played(out: Path) -> None:
    """Of units with the same bytes one is enough."""
    done = check(
        out, "--budget", "0.008", "--device", "mi300x-cpx", "--seed", "3", "--only", "*rocm72*", "--json", "-v"
    )
    assert done.returncode == 0, done.stderr
    (unit,) = json.loads(done.stdout)["units"]
    record = unit["check"]
    assert (record["device"], record["seed"], record["tested"]) == ("mi300x-cpx", 3, "emulated")
    assert 1 <= len(record["cases"]) < 10
    assert len(record["cases"]) + len(record["left_out"]) == 74
    assert f"{len(record['left_out'])} of 74 cases left out by the budget" in record["reason"]
    assert all(case["passed"] and case["share"] == 1.0 and case["instructions"] > 0 for case in record["cases"])
    assert {case["matrix"] for case in record["cases"]} <= {"fast", "exact"}
    assert "check chose the emulator (--on auto)" in done.stderr
    assert f"{len(record['cases'])}/{len(record['cases'])}" in done.stderr, "each case is progress"
