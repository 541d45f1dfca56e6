"""What a build may read of a kernel project, read once: what is hashed is what is compiled.

A build may read ``build.toml``, everything below ``torch-ext``, the source files that the ROCm sections and the
``[torch]`` table of build.toml name, and the headers in their include folders. It gets a private copy of exactly these
files, so that a file that is not declared is not there, and a README can change without changing a byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from rocmatrix import digest
from rocmatrix.build import registration
from rocmatrix.digest import Digest
from rocmatrix.errors import InputError
from rocmatrix.plan.extension import OPS_NAME
from rocmatrix.plan.manifest import Manifest, parse_manifest

MANIFEST = "build.toml"
TORCH_EXT = "torch-ext"
HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".hip", ".inc", ".inl", ".ipp", ".tpp", ".def"})
"""Suffixes of what is read from include folders; other files there would only be read if they were sources."""

_BUILD_RESULTS = frozenset({"build", "result", "__pycache__"})


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file of a project: path relative to it with ``/``, and content."""

    path: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Project:
    """A kernel project as a build sees it.

    Attributes:
        manifest: its build.toml.
        files: what a build may read, sorted by path; build.toml included.
        where: its folder, for messages.
    """

    manifest: Manifest
    files: tuple[SourceFile, ...]
    where: str

    @cached_property
    def digest(self) -> Digest:
        """Digest of all files, names and contents."""
        return digest.of_parts((file.path, file.content) for file in self.files)

    @property
    def module_folder(self) -> str:
        """Path of the Python module, with ``/`` at its end."""
        return f"{TORCH_EXT}/{self.manifest.module}/"

    def write_to(self, folder: Path) -> None:
        """Write the private copy below a folder."""
        for file in self.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)


def read_project(folder: Path) -> Project:
    """Read what a build may read of the project in a folder.

    Raises:
        InputError: build.toml is not what it should be, a file that it names is missing or lies outside, or the layout
            is not the one that the ``kernels`` client loads.
    """
    reader = _Reader(folder)
    manifest = parse_manifest(reader.read(MANIFEST, MANIFEST), str(folder / MANIFEST))
    paths = {MANIFEST: MANIFEST}
    for key, path in _declared(manifest, reader):
        paths.setdefault(path, key)
    files = tuple(SourceFile(path=path, content=reader.read(path, key)) for path, key in sorted(paths.items()))
    project = Project(manifest=manifest, files=files, where=str(folder))
    _require_layout(project)
    return project


def _declared(manifest: Manifest, reader: _Reader) -> Iterator[tuple[str, str]]:
    """Yield the key of build.toml that declares a file, and its path."""
    for path in reader.below(TORCH_EXT, TORCH_EXT):
        if not _is_generated(path, manifest):
            yield TORCH_EXT, path
    sections = [(f"kernel.{kernel.id}", kernel.src, kernel.include) for kernel in manifest.rocm_kernels]
    if manifest.torch:
        sections.append(("torch", manifest.torch.src, manifest.torch.include))
    for section, sources, include in sections:
        for path in sources:
            yield f"{section}.src", _normal(path)
        for name in include or ():
            for path in reader.below(_normal(name), f"{section}.include"):
                if PurePosixPath(path).suffix in HEADER_SUFFIXES and not _is_generated(path, manifest):
                    yield f"{section}.include", path


def _is_generated(path: str, manifest: Manifest) -> bool:
    """Return whether rocmatrix generates a file of this path itself: one that kernel-builder left is no source."""
    return path in {f"{TORCH_EXT}/{registration.NAME}", f"{TORCH_EXT}/{manifest.module}/{OPS_NAME}"}


def _normal(path: str) -> str:
    return PurePosixPath(path).as_posix()


class _Reader:
    """Reads files of one project, and none outside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._real = folder.resolve()

    def read(self, path: str, key: str) -> bytes:
        """Return the content of a file; ``key`` is what names it in build.toml."""
        full = self._folder / path
        try:
            real = full.resolve(strict=True)
            if not real.is_relative_to(self._real):
                raise self._error(key, f"{path} lies outside the project", "Move the file into the project.")
            if not real.is_file():
                raise self._error(key, f"{path} is not a regular file", "Name files, not folders.")
            return real.read_bytes()
        except FileNotFoundError as err:
            raise self._error(key, f"{path} is not there", "Correct the path, or add the file.") from err
        except (OSError, RuntimeError) as err:  # pathlib raises RuntimeError for a symbolic link to itself
            reason = getattr(err, "strerror", None) or err
            raise self._error(key, f"{path} cannot be read: {reason}", "Check its permissions and links.") from err

    def below(self, path: str, key: str) -> list[str]:
        """Return the files below a folder, without hidden ones and without what builds leave behind."""
        full = self._folder / path
        if not full.is_dir():
            raise self._error(key, f"the folder {path} is not there", "Correct the path, or add the folder.")
        relative = [file.relative_to(self._folder) for file in full.rglob("*") if not file.is_dir()]
        return sorted(file.as_posix() for file in relative if not _is_left_behind(file))

    def _error(self, key: str, what: str, fix: str) -> InputError:
        where = str(self._folder / MANIFEST)
        return InputError(what, where=where if key in {MANIFEST, TORCH_EXT} else f"{where}: {key}", fix=fix)


def _is_left_behind(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or "__pycache__" in path.parts or path.parts[0] in _BUILD_RESULTS or path.suffix == ".pyc"


def _require_layout(project: Project) -> None:
    """Refuse a layout that the ``kernels`` client would not load, as kernel-builder's own check does."""
    paths = {file.path for file in project.files}
    module = project.module_folder
    where = f"{project.where}/{module}"
    if f"{module}__init__.py" not in paths:
        raise InputError(
            f"the Python module {project.manifest.module} has no __init__.py",
            where=where,
            fix="Add it; a variant is imported by its name, which is general.name with underscores.",
        )
    if any(path.startswith(f"{module}{project.manifest.module}/") for path in paths):
        raise InputError(
            f"there is a {project.manifest.module} inside {project.manifest.module}",
            where=where,
            fix="Move its files up: in a variant the folder of the module is the variant itself.",
        )
