"""A copy of this repository's scripts with a tiny lock, and interpreters that lack what some machines lack."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.system.bootstrap.index import Index
from tests.system.bootstrap.wheels import pip_wheel, tiny_wheel

REPOSITORY = Path(__file__).resolve().parents[3]
SECONDS = 180.0  # of one start, on a machine that does much else

# Stands in for the package that the script hands over to: says what it was started with.
_MAIN = """\
import json, sys, tiny
print(json.dumps({"arguments": sys.argv[1:], "tiny": tiny.VERSION, "prefix": sys.prefix, "path": sys.path}))
"""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The copy, its index, and how its script is started.

    Attributes:
        root: the copy's folder; it has a space in its name.
        index: what pip and uv are configured to ask.
        python: the interpreter that starts the script.
        path: the PATH of that start.
    """

    root: Path
    index: Index
    python: str
    path: str

    @property
    def environment(self) -> Path:
        """Return the private environment's folder."""
        return self.root / ".rocmatrix" / f"run-py3.{sys.version_info.minor}{sys.abiflags}"

    def variables(self, **more: str) -> dict[str, str]:
        """Return the variables of a start: no configuration but the index of the test."""
        return {
            "HOME": str(self.root),
            "PATH": self.path,
            "LC_ALL": "C.UTF-8",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.index.url,
            "PIP_NO_CACHE_DIR": "1",
            "UV_DEFAULT_INDEX": self.index.url,
            "UV_NO_CONFIG": "1",
            "UV_NO_CACHE": "1",
            **more,
        }

    def command(self, arguments: Sequence[str] = (), options: Sequence[str] = ()) -> list[str]:
        """Return the command that starts the script."""
        return [self.python, *options, str(self.root / "scripts" / "build_matrix.py"), *arguments]

    def start(
        self,
        *arguments: str,
        options: Sequence[str] = (),
        cwd: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run the script to its end and return what it said."""
        return subprocess.run(
            self.command(arguments, options),
            env=self.variables(**(more or {})),
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def spawn(self) -> subprocess.Popen[str]:
        """Start the script and return at once."""
        return subprocess.Popen(
            self.command(), env=self.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def lock(self, version: str, content: bytes) -> None:
        """Pin the package ``tiny`` to a version with the hash of this content."""
        (self.root / "requirements" / "run.txt").write_text(pin("tiny", version, content))


def make_tree(root: Path, index: Index, *, python: str, path: str) -> Tree:
    """Copy the scripts to ``root`` and give them locks for the wheels of the index."""
    shutil.copytree(REPOSITORY / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    package = root / "src" / "rocmatrix"
    package.mkdir(parents=True)
    for name in ("__init__.py", "errors.py"):
        shutil.copy(REPOSITORY / "src" / "rocmatrix" / name, package / name)
    (package / "__main__.py").write_text(_MAIN)
    (root / "requirements").mkdir()
    name, content, version = pip_wheel()
    index.files[name] = content
    (root / "requirements" / "pip.txt").write_text(pin("pip", version, content))
    tree = Tree(root=root, index=index, python=python, path=path)
    name, content = tiny_wheel("1.0", padding=2_000_000)
    index.files[name] = content
    tree.lock("1.0", content)
    return tree


def pin(name: str, version: str, content: bytes) -> str:
    """Return a line of a lock."""
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"


def python_without_ensurepip(folder: Path) -> str:
    """Make an interpreter as on Debian without python3-venv, and without pip; return its path."""
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], check=True, timeout=SECONDS)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    (packages / "no_ensurepip.pth").write_text("import sys; sys.modules['ensurepip'] = None\n")
    return str(folder / "bin" / "python")


def folder_with(folder: Path, tool: str) -> str:
    """Make a folder for PATH with this one tool in it; return it."""
    folder.mkdir()
    command = folder / tool
    if tool == "uv":
        found = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        assert found, "uv belongs to the test environment"
        command.symlink_to(found)
    else:
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {tool} "$@"\n')
        command.chmod(0o755)
    return str(folder)
