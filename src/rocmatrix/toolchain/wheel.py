"""Where a wheel lies: asked of pip, so that its own configuration decides about indexes, mirrors and credentials.

pip resolves the requirement without installing or downloading it (``--dry-run --report``; pip's documentation of the
installation report, version 1) and states the wheel's URL and SHA-256.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from rocmatrix.errors import MissingRequirementError

_TIMEOUT = 600.0
_ERROR_LIMIT = 400
"""Characters of pip's error that are shown: it lists every version that it knows."""


@dataclass(frozen=True, kw_only=True)
class WheelRequest:
    """Which wheel is wanted, for which interpreter and platform; the running ones do not matter.

    Attributes:
        name: name of the project.
        version: public version; a local one of it (``2.13.0+cpu``) is taken too, as pip prefers it.
        python: e.g. ``3.11``.
        platform: platform tag, e.g. ``manylinux_2_28_x86_64``.
    """

    name: str
    version: str
    python: str
    platform: str


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel as pip found it.

    Attributes:
        url: ``https``, ``http`` or ``file``; may be meant for this machine alone, so it is not for records.
        sha256: hexadecimal digits, as the index states them; ``""`` if it states none.
        version: with the local part, if there is one.
    """

    url: str
    sha256: str
    version: str

    @property
    def file_name(self) -> str:
        """Name of the wheel's file."""
        return unquote(urlsplit(self.url).path).rpartition("/")[2]

    @property
    def host(self) -> str:
        """Who serves it, for messages: no path, no credentials."""
        return urlsplit(self.url).hostname or "this machine"


@dataclass(frozen=True, kw_only=True)
class PipNetwork:
    """What pip's configuration says about reaching servers; ``None`` where it says nothing."""

    certificate_bundle: str | None
    proxy: str | None


def locate_wheel(request: WheelRequest) -> Wheel:
    """Ask pip for a wheel.

    Raises:
        MissingRequirementError: there is no pip, it finds no such wheel, or it cannot reach its index.
    """
    with tempfile.TemporaryDirectory(prefix="rocmatrix-pip-") as folder:
        report = Path(folder) / "report.json"
        arguments = [
            *("install", "--dry-run", "--no-deps", "--ignore-installed", "--no-input", "--quiet"),
            *("--only-binary=:all:", "--implementation=cp", f"--python-version={request.python}"),
            *(f"--platform={request.platform}", f"--target={folder}/nothing-is-installed-here"),
            *(f"--report={report}", f"{request.name}=={request.version}"),
        ]
        done = _pip(arguments)
        if done.returncode != 0:
            raise MissingRequirementError(
                f"pip finds no wheel of {request.name} {request.version}: {_first_error(done.stderr)}",
                where=f"{request.platform}, Python {request.python}",
                fix="Check the network and pip's configuration (`pip config list`), then run again.",
            )
        return _read_report(report.read_bytes(), request)


def pip_network() -> PipNetwork:
    """Return pip's ``cert`` and ``proxy``, from its files and its environment variables.

    Raises:
        MissingRequirementError: there is no pip.
    """
    values: dict[str, str] = {}
    for line in sorted(_pip(["config", "list"]).stdout.splitlines(), key=_precedence):
        key, _, value = line.partition("=")
        values[key.rpartition(".")[2]] = _unquoted(value)
    return PipNetwork(certificate_bundle=values.get("cert"), proxy=values.get("proxy"))


def _precedence(line: str) -> int:
    """Order the lines of ``pip config list`` so that what pip prefers comes last: files, commands, environment."""
    section = line.partition("=")[0].rpartition(".")[0]
    return {"global": 0, "install": 1, ":env:": 2}.get(section, -1)


def _unquoted(value: str) -> str:
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _pip(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as err:
        raise MissingRequirementError(
            f"pip gave no answer within {_TIMEOUT:.0f} seconds",
            where=sys.executable,
            fix="Check the network and pip's configuration (`pip config list`), then run again.",
        ) from err
    if "No module named pip" in done.stderr:
        raise MissingRequirementError(
            "this Python has no pip",
            where=sys.executable,
            fix="Install pip there (`python -m ensurepip`), or run scripts/build_matrix.py, which sets itself up.",
        )
    return done


def _first_error(stderr: str) -> str:
    """Return the first error that pip printed, without its mark; what follows refers to its documentation.

    That an index cannot be reached is only a warning to pip, which then says that no version exists.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    unreachable = "its index cannot be reached; " if any(" Retrying (" in line for line in lines) else ""
    return unreachable + (errors or lines or ["it says nothing"])[0][:_ERROR_LIMIT]


@dataclass(frozen=True, kw_only=True)
class _ArchiveInfo:
    hashes: dict[str, str] = field(default_factory=dict)
    hash: str = ""


@dataclass(frozen=True, kw_only=True)
class _DownloadInfo:
    url: str
    archive_info: _ArchiveInfo = _ArchiveInfo()


@dataclass(frozen=True, kw_only=True)
class _Metadata:
    version: str


@dataclass(frozen=True, kw_only=True)
class _Item:
    download_info: _DownloadInfo
    metadata: _Metadata


@dataclass(frozen=True, kw_only=True)
class _Report:
    install: tuple[_Item, ...]


def _read_report(text: bytes, request: WheelRequest) -> Wheel:
    """Return the one wheel of pip's report; older versions of pip state the hash as ``hash: sha256=…``."""
    try:
        report = msgspec.json.decode(text, type=_Report)
    except msgspec.MsgspecError as err:
        raise MissingRequirementError(
            f"pip's report is not understood: {err}", where=sys.executable, fix="Upgrade pip to 23.0 or later."
        ) from err
    if not report.install:
        raise MissingRequirementError(
            f"pip reports no wheel of {request.name} {request.version}",
            where=sys.executable,
            fix="Check that the index in pip's configuration (`pip config list`) has it.",
        )
    item = report.install[0]
    archive = item.download_info.archive_info
    sha256 = archive.hashes.get("sha256") or archive.hash.removeprefix("sha256=")
    return Wheel(url=item.download_info.url, sha256=sha256, version=item.metadata.version)
