"""A CPU build of torch for the system tests, found by a dry run of pip: no CUDA build is ever downloaded unasked."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from private_environment.display import Display
from private_environment.environment import PrivateEnvironment
from private_environment.lock import EnvironmentLock
from private_environment.pip_client import pip_install, pip_variables
from private_environment.preparation import install_lock
from rocmatrix.errors import MissingRequirementError

_DRY_RUN = (
    *("--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:"),
    *("--quiet", "--no-input", "--disable-pip-version-check", "--report=-"),
)
_DRY_RUN_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which torch, and the places to look for it, in order; ``requirements/torch.toml``.

    Attributes:
        version: with the local part ``+cpu``, which no CUDA build has.
        places: options of pip for each place; empty options are pip's own configuration.
    """

    version: str
    places: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel that pip would install.

    Attributes:
        version: as its own metadata say.
        url: where pip found it.
        sha256: 64 hexadecimal digits, from pip's report.
        requires: its requirements, as its metadata say.
    """

    version: str
    url: str
    sha256: str
    requires: tuple[str, ...]


class NoCpuTorchError(MissingRequirementError):
    """No CPU build of torch is to be had here; tests that need one cannot pass."""


def install_torch(
    environment: PrivateEnvironment, lock_file: Path, wheel: Wheel, display: Display, lock: EnvironmentLock
) -> None:
    """Install what torch asks for, from its lock, and the wheel itself, by its sha256.

    Raises:
        MissingRequirementError: something of it could not be installed.
    """
    display.say(f"  torch {wheel.version} sha256:{wheel.sha256}")
    install_lock(lock_file, environment, display, lock)
    requirement = environment.directory / "torch-wheel.txt"
    requirement.write_text(f"torch @ {wheel.url} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    arguments = ("--no-deps", "--requirement", str(requirement))
    pip_install(environment.python, arguments, display=display, keep_open=lock.descriptor)


def read_choice(file: Path) -> Choice:
    """Read requirements/torch.toml."""
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    places = [
        (f"--index-url={index['url']}", f"--timeout={index['timeout-seconds']}", "--retries=0")
        for index in document.get("index", [])
    ]
    return Choice(version=document["version"], places=(*places, ()))


def find_torch(python: Path, choice: Choice) -> Wheel:
    """Return the first wheel that a place offers and that is a CPU build.

    Raises:
        NoCpuTorchError: with what pip said at each place.
    """
    said = []
    for options in choice.places:
        place = options[0].removeprefix("--index-url=") if options else "pip's own configuration"
        status, report, trouble = _dry_run(python, f"torch=={choice.version}", options)
        if status != 0:
            said.append(f"{place}: {trouble}")
            continue
        for wheel in wheels_of(report):
            if (reason := why_not_cpu(wheel)) is None:
                return wheel
            said.append(f"{place}: {reason}")
    raise NoCpuTorchError(
        f"no CPU build of torch ({choice.version}) was found: {'; '.join(said)}",
        fix="Give pip an index or a folder that has one (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS); "
        "a CUDA build is never taken.",
    )


def wheels_of(report: str) -> Iterator[Wheel]:
    """Yield the wheels of an installation report of pip (format version 1) that state their sha256."""
    for item in json.loads(report)["install"]:
        sha256 = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if sha256:
            metadata = item["metadata"]
            yield Wheel(
                version=metadata["version"],
                url=item["download_info"]["url"],
                sha256=sha256,
                requires=tuple(metadata.get("requires_dist", [])),
            )


def why_not_cpu(wheel: Wheel) -> str | None:
    """Return why a wheel may not be taken for a CPU build of torch, or ``None``: CUDA builds are gigabytes."""
    if not wheel.version.endswith("+cpu"):
        return f"torch {wheel.version} does not say +cpu"
    if heavy := [name for name in wheel.requires if name.startswith(("nvidia", "cuda", "triton", "rocm"))]:
        return f"torch {wheel.version} asks for {heavy[0]}"
    return None


def _dry_run(python: Path, requirement: str, options: Sequence[str]) -> tuple[int, str, str]:
    """Return status, report and the last error line of a dry run of pip, which downloads metadata at most."""
    command = [str(python), "-I", "-m", "pip", "install", *_DRY_RUN, *options, requirement]
    try:
        run = subprocess.run(
            command,
            env=pip_variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_DRY_RUN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer in {_DRY_RUN_SECONDS:.0f} s"
    errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR: ")] or run.stderr.splitlines()[-1:]
    return run.returncode, run.stdout, (errors[-1] if errors else "").removeprefix("ERROR: ")
