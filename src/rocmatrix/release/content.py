"""The set to publish of one kernel: its collected variants, benchmarks, and the rule that puts binaries into LFS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix import document
from rocmatrix.document import DocumentError
from rocmatrix.errors import ReleaseError
from rocmatrix.metadata import METADATA_NAME, Metadata
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.release.trees import BUILD, LocalFile, file_of, file_on_disk
from rocmatrix.store import Store

LARGE_RULE = "*.so filter=lfs diff=lfs merge=lfs -text"
_BENCHMARKS = "benchmarks"
_BENCHMARK_PATTERN = "benchmark*.py"
"""What ``kernels benchmark`` runs (kernels 0.17.2, cli/benchmark.py)."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a release publishes.

    Attributes:
        kernel: whose it is.
        variants: names of its variants, sorted.
        files: path in the repository -> file, of the variants and the benchmarks.
        metadata: of each variant.
    """

    kernel: PlannedKernel
    variants: tuple[str, ...]
    files: Mapping[str, LocalFile]
    metadata: Mapping[str, Metadata]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files.values())


def read_content(kernel: PlannedKernel, *, store: Store, project: Path) -> Content:
    """Read what was collected for a kernel.

    Args:
        kernel: which one.
        store: the output folder.
        project: the kernel's own folder, for its benchmarks.

    Raises:
        ReleaseError: nothing was collected, or it is not what ``collect`` leaves.
    """
    folder = store.variants_folder(kernel.name)
    variants = tuple(sorted(path.name for path in folder.iterdir() if path.is_dir())) if folder.is_dir() else ()
    if not variants:
        raise ReleaseError(
            f"nothing was collected for {kernel.name}",
            where=str(folder),
            fix="Run `rocmatrix run` with the same --out.",
        )
    paths = {
        f"{BUILD}/{path.relative_to(folder).as_posix()}": path
        for variant in variants
        for path in sorted((folder / variant).rglob("*"))
        if path.is_file()
    }
    link = next((path for path in paths.values() if path.is_symlink()), None)
    if link is not None:
        raise ReleaseError(
            "it is a link, and what it leads to is none of the kernel's",
            where=str(link),
            fix="Run `rocmatrix run` again.",
        )
    for path in sorted((project / _BENCHMARKS).glob(_BENCHMARK_PATTERN)):
        paths[f"{_BENCHMARKS}/{path.name}"] = path
    return Content(
        kernel=kernel,
        variants=variants,
        files={path: file_on_disk(source) for path, source in paths.items()},
        metadata={variant: _metadata(folder / variant / METADATA_NAME) for variant in variants},
    )


def _metadata(path: Path) -> Metadata:
    try:
        return document.from_json(path.read_bytes(), Metadata)
    except (OSError, DocumentError) as err:
        raise ReleaseError(f"it cannot be read: {err}", where=str(path), fix="Run `rocmatrix collect` again.") from err


def attributes(present: bytes) -> LocalFile | None:
    """Return ``.gitattributes`` with the rule for binaries added; ``None`` if it is there already."""
    if any(line.split() == LARGE_RULE.split() for line in present.decode("utf-8", "replace").splitlines()):
        return None
    head = present if not present or present.endswith(b"\n") else present + b"\n"
    return file_of(head + LARGE_RULE.encode() + b"\n")
