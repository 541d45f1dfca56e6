"""The stage ``collect``: from built and audited units to the set of variants that a release publishes."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from rocmatrix import digest, document
from rocmatrix.collect.coverage import Collected, Missing, cover
from rocmatrix.collect.describe import describe_variant
from rocmatrix.collect.digests import hash_variant
from rocmatrix.collect.evidence import NotReady, Ready, weigh
from rocmatrix.collect.provenance import Unknown, read_git_state
from rocmatrix.events import Emit, Notice, Stage, State, UnitFinished
from rocmatrix.input_file import read_input
from rocmatrix.metadata import METADATA_NAME, GitState
from rocmatrix.plan.extension import EXTENSION_SUFFIX, extension_name
from rocmatrix.plan.manifest import Manifest, parse_manifest
from rocmatrix.plan.model import Abi, Plan, PlannedKernel, Unit
from rocmatrix.records import CollectedVariant, Coverage
from rocmatrix.store import Store

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755


def collect_kernels(plan: Plan, *, source_root: Path, store: Store, emit: Emit) -> dict[str, Coverage]:
    """Write ``kernels/<name>/`` of every kernel of the plan and return what covers its cells, by kernel.

    All units with valid records are collected, whether this run built them or an earlier one; a unit that is not is
    named in the coverage of its cells together with the stage that is to blame. ``coverage.json`` is written last.

    Args:
        plan: the plan.
        source_root: folder of matrix.yaml.
        store: the output folder.
        emit: takes the events.

    Raises:
        InputError: a kernel's build.toml cannot be read or is not one.
    """
    return {
        kernel.name: _collect_kernel(plan, kernel, source_root=source_root, store=store, emit=emit)
        for kernel in plan.kernels
    }


def _collect_kernel(plan: Plan, kernel: PlannedKernel, *, source_root: Path, store: Store, emit: Emit) -> Coverage:
    project = source_root / kernel.path
    path = project / "build.toml"
    manifest = parse_manifest(read_input(path), str(path))
    source = _source(project, kernel.path, store, emit)
    units = [unit for unit in plan.units if unit.kernel == kernel.name]
    with store.scratch("collect") as scratch:
        staged = scratch / "build"
        staged.mkdir()
        results = {}
        for unit in units:
            started = time.monotonic()
            result = _collect_unit(plan, unit, manifest=manifest, source=source, store=store, staged=staged)
            results[unit.id] = result
            emit(_event(unit, result, time.monotonic() - started))
        _set_modes(staged)
        store.discard_coverage(kernel.name)
        store.replace_variants(kernel.name, staged)
    coverage = cover(plan, kernel.name, results)
    store.write_coverage(coverage)
    return coverage


def _source(project: Path, shown: str, store: Store, emit: Emit) -> GitState | None:
    state = read_git_state(project, out=store.root)
    if isinstance(state, Unknown):
        emit(Notice(level="warning", message=f"metadata.json names no commit: {state.reason}", where=shown))
        return None
    return state


def _collect_unit(
    plan: Plan, unit: Unit, *, manifest: Manifest, source: GitState | None, store: Store, staged: Path
) -> Collected | Missing:
    ready = weigh(store, unit)
    if isinstance(ready, NotReady):
        return Missing(reason=ready.reason, tested=ready.tested)
    folder = staged / unit.variant
    shutil.copytree(store.payload(unit.id), folder, copy_function=shutil.copyfile)  # links become what they point to
    if objection := _objection(unit, manifest, ready, folder):
        shutil.rmtree(folder)
        return Missing(reason=objection)
    metadata = describe_variant(plan, unit, manifest=manifest, ready=ready, digests=hash_variant(folder), source=source)
    (folder / METADATA_NAME).write_bytes(document.to_json(metadata))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    variant = CollectedVariant(variant=unit.variant, unit=unit.id, artifact_digest=ready.artifact, size=size)
    return Collected(variant=variant, tested=ready.tested, reason=ready.reason)


def _objection(unit: Unit, manifest: Manifest, ready: Ready, folder: Path) -> str | None:
    """Return why a copied payload must not be published although its records allow it, or ``None``."""
    if digest.of_folder(folder) != ready.artifact:
        return "its payload has a link to a folder, or changed while it was collected"
    extension = extension_name(manifest.name, ready.build.uid) + EXTENSION_SUFFIX
    if unit.abi is not Abi.NOARCH and not (folder / extension).is_file():
        return f"its payload has no {extension}, which build.json and build.toml name"
    return None


def _set_modes(folder: Path) -> None:
    """Give files and folders the same modes, whatever the builder's were and the user's umask is."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(_FOLDER_MODE if path.is_dir() else _FILE_MODE)


def _event(unit: Unit, result: Collected | Missing, seconds: float) -> UnitFinished:
    collected = isinstance(result, Collected)
    return UnitFinished(
        unit=unit.id,
        stage=Stage.COLLECT,
        state=State.DONE if collected else State.SKIPPED,
        reason="collected" if collected else result.reason,
        seconds=seconds,
    )
