"""An image with the CPU torch of this very Python: interpreter, standard library and packages, copied."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution, requires
from pathlib import Path

from docker import DockerClient

_PYTHON = "/opt/python"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def build_torch_image(client: DockerClient, base: str, name: str, folder: Path) -> str:
    """Build the image in an empty folder and return its id.

    Args:
        client: of the engine.
        base: name of an image with a glibc that is not older than this machine's.
        name: of the image.
        folder: gets what is copied, about a gigabyte.
    """
    root = folder / "python"
    library = Path(sysconfig.get_path("stdlib"))
    ignored = shutil.ignore_patterns("__pycache__", "test", "tests", "site-packages", "config-*", "*.a", "include")
    shutil.copytree(library, root / "lib" / library.name, ignore=ignored)
    (root / "bin").mkdir()
    shutil.copyfile(Path(sys.executable).resolve(), root / "bin" / "python3")
    (root / "bin" / "python3").chmod(0o755)
    for needed in _libraries(Path(sys.executable).resolve(), *library.glob("lib-dynload/_ctypes.*")):
        shutil.copyfile(needed, root / "lib" / needed.name)
    packages = root / "lib" / library.name / "site-packages"
    packages.mkdir()
    for package in sorted(_needed("torch", set())):
        _copy(package, packages)
    (folder / "Dockerfile").write_text(
        f"FROM {base}\nCOPY python {_PYTHON}\n"
        f"ENV PATH={_PYTHON}/bin:/usr/bin:/bin LD_LIBRARY_PATH={_PYTHON}/lib HSA_OVERRIDE_GFX_VERSION=9.4.2\n"
    )
    made, _ = client.images.build(path=str(folder), tag=name, network_mode="none", rm=True, forcerm=True)
    return str(made.id)


def _needed(package: str, seen: set[str]) -> set[str]:
    """Return a package and all that it asks for on this machine."""
    if package not in seen:
        seen.add(package)
        for line in requires(package) or ():
            if "extra ==" not in line and (match := _NAME.match(line)) and not line.startswith(("nvidia", "triton")):
                _needed(match[0].lower().replace("_", "-"), seen)
    return seen


def _copy(package: str, packages: Path) -> None:
    for file in distribution(package).files or ():
        source = Path(str(file.locate()))
        if ".." in file.parts or "__pycache__" in file.parts or not source.is_file():
            continue
        if any(part in {"include", "test"} for part in file.parts[:2]):
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _libraries(*binaries: Path) -> list[Path]:
    """Return the libraries that binaries need besides those of glibc."""
    found: dict[str, Path] = {}
    for binary in binaries:
        listed = subprocess.run(("ldd", str(binary)), capture_output=True, text=True, check=True, timeout=60).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", listed):
            if not re.match(r"lib(c|m|dl|pthread|rt|util)\.so|ld-", name):
                found[name] = Path(path)
    return [path.parent / name for name, path in found.items()]
