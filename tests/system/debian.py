"""Packages of Debian's archive, unpacked without being installed, from the mirror that apt is set up with.

Debian's ROCm libraries are real ones for many GPUs, compiled by others. The machine may run another release of Debian:
apt gets lists and settings of its own, in a folder that is thrown away.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SUITE = "trixie"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SECONDS = 300.0

_SOURCES = """Types: deb
URIs: {mirror}
Suites: {suite}
Components: main
Architectures: amd64
Signed-By: {keys}
"""
_SETTINGS = """Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{folder}/sources";
APT::Sandbox::User "root";
Acquire::Languages "none";
"""


def missing_debian() -> str | None:
    """Return why no package of Debian can be had, or ``None``."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and KEYS.exists()):
        return "this is no Debian: there is no apt-get, dpkg-deb or keyring"
    return None if mirror() else "apt is set up with no mirror of Debian"


def mirror() -> str | None:
    """Return the mirror that apt is set up with, or ``None``."""
    command = ("apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages")
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    rows = (line.split() for line in run.stdout.splitlines())
    return next((row[0] for row in rows if row[1:] == ["Debian"] and "security" not in row[0]), None)


@dataclass(frozen=True, kw_only=True)
class Archive:
    """Debian's archive; ``folder`` holds lists, settings and what was unpacked."""

    folder: Path

    def update(self) -> None:
        """Fetch the lists of the suite."""
        for name in ("lists/partial", "cache/archives/partial", "sources"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "settings").write_text(_SETTINGS.format(folder=self.folder))
        sources = _SOURCES.format(mirror=mirror(), suite=SUITE, keys=KEYS)
        (self.folder / "sources" / "debian.sources").write_text(sources)
        self._apt("update", "--quiet=2")

    def unpack(self, package: str) -> Path:
        """Return the folder that a package was unpacked into."""
        folder = self.folder / package
        folder.mkdir()
        self._apt("download", "--quiet=2", package, cwd=folder)
        (file,) = folder.glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", file, folder], check=True, timeout=SECONDS)
        file.unlink()
        return folder

    def _apt(self, *arguments: str, cwd: Path | None = None) -> None:
        environment = os.environ | {"APT_CONFIG": str(self.folder / "settings")}
        command = ["apt-get", *arguments]
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
