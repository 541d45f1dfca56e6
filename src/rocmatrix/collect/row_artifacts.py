"""Artifacts of a workflow's rows, in a folder as ``actions/download-artifact`` fills it, by what may be taken of them.

Each row of the plan leaves ``unit-<row>`` (built), ``unit-<row>-check`` (checked on the emulator) and
``unit-<row>-gpu``. Every job of a run may upload under any name: builds and the emulator's records are taken from the
names of the plan's rows, and of every other artifact nothing but checks on a GPU.

From v5 on the action lays the only artifact that a pattern matches flat into its ``path``, and each of several into a
folder of its name (actions/download-artifact#416, merged in August 2025; its README says so since #424).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocmatrix.collect.folder_digests import NO_NAMES
from rocmatrix.collect.parts import Parts
from rocmatrix.errors import InputError

_PREFIX, _EMULATED = "unit-", "-check"
_FLAT = "plan.json"
"""Every artifact of a row has it at its top."""


@dataclass(frozen=True, kw_only=True)
class RowArtifacts:
    """The artifacts of a run.

    Attributes:
        parts: where they lie.
        names: what artifacts are called whose folder is called otherwise.
    """

    parts: Parts
    names: Mapping[Path, str] = field(default_factory=lambda: NO_NAMES)

    @property
    def hosted(self) -> tuple[Path, ...]:
        """What hosted machines built, and what they found on the emulator."""
        return (*self.parts.whole, *self.parts.emulated)


def read_row_artifacts(folder: Path, rows: Sequence[str]) -> RowArtifacts:
    """Return the artifacts of a run in a folder that ``actions/download-artifact`` filled.

    Args:
        folder: its ``path``.
        rows: ids of the plan's rows.

    Raises:
        InputError: there is no such folder, it has no build of these rows, or one artifact lies in it without its name
            and there are several rows.
    """
    fix = "Find out which job left none: run all jobs that failed again."
    if not folder.is_dir():
        raise InputError("this is no folder of artifacts", where=str(folder), fix="Download them to there.")
    if (folder / _FLAT).is_file():
        if len(rows) != 1:
            said = f"there is one artifact of {len(rows)} rows, and the action that downloads it does not say whose"
            raise InputError(said, where=str(folder), fix=fix)
        return RowArtifacts(parts=Parts(whole=(folder,)), names={folder: f"{_PREFIX}{rows[0]}"})
    whole = tuple(_present(folder, (f"{_PREFIX}{row}" for row in rows)))
    emulated = tuple(_present(folder, (f"{_PREFIX}{row}{_EMULATED}" for row in rows)))
    if not whole:
        said = f"no build of the rows is here: {', '.join(_PREFIX + row for row in rows)}"
        raise InputError(said, where=str(folder), fix=fix)
    others = tuple(path for path in sorted(folder.iterdir()) if path not in {*whole, *emulated})
    return RowArtifacts(parts=Parts(whole=whole, emulated=emulated, checks=others))


def _present(folder: Path, names: Iterator[str]) -> Iterator[Path]:
    return (path for name in names if (path := folder / name).is_dir())
