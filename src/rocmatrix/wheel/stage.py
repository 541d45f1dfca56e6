"""The stage ``wheel``: each collected variant becomes one wheel; which one to install is the user's choice."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from rocmatrix import atomic, document
from rocmatrix.digest import Digest, of_bytes
from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Notice
from rocmatrix.input_file import read_input
from rocmatrix.metadata import METADATA_NAME, Metadata, is_hashed
from rocmatrix.plan.manifest import Manifest, parse_manifest
from rocmatrix.plan.model import Plan, PlannedKernel, Unit, UnitId
from rocmatrix.plan.variants import parse_variant
from rocmatrix.records import AuditRecord, CollectedVariant, Outcome
from rocmatrix.store import Absent, Store
from rocmatrix.wheel.archive import build_archive
from rocmatrix.wheel.description import core_metadata, wheel_file
from rocmatrix.wheel.naming import WheelName, distribution_name, module_name, release_version, wheel_name

_CEILINGS = "version-ceilings"
"""The audit's rule that a binary asks for no symbol version that manylinux_2_28 lacks."""
_RUN = "Run `rocmatrix run` with the same --out."


@dataclass(frozen=True, kw_only=True)
class WheelRequest:
    """What wheels are asked for.

    Attributes:
        units: of which variants.
        tag: of the release; ``None`` for development versions.
        name: of the distribution; ``None`` for the kernel's own.
        folder: where they go; ``None`` for ``wheels/`` beside the collected variants.
    """

    units: Sequence[Unit]
    tag: str | None = None
    name: str | None = None
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class MadeWheel:
    """A wheel that was written.

    Attributes:
        unit: whose variant it holds.
        path: where it is.
        requirement: how a user asks pip for it.
        size: in bytes.
    """

    unit: UnitId
    path: str
    requirement: str
    size: int
    digest: Digest


def make_wheels(
    plan: Plan, request: WheelRequest, *, source_root: Path, store: Store, emit: Emit
) -> tuple[MadeWheel, ...]:
    """Write a wheel for every asked-for variant; nothing is written if one of them cannot be made.

    Args:
        plan: the plan of the output folder.
        request: what is asked for.
        source_root: folder of matrix.yaml.
        store: the output folder.
        emit: told where a wheel is not portable.

    Raises:
        InputError: a variant is not collected, changed since, or cannot be a wheel.
    """
    kernels = {kernel.name: kernel for kernel in plan.kernels}
    asked = {unit.kernel for unit in request.units}
    if request.name is not None and len(asked) > 1:
        fix = "Choose one kernel with --only."
        raise InputError(f"one name for the kernels {', '.join(sorted(asked))}", where="--name", fix=fix)
    with store.scratch("wheel") as scratch:  # not in memory: variants may be large, and are many
        ready = []
        for unit in request.units:
            name, content = _make(request, unit, kernels[unit.kernel], source_root=source_root, store=store, emit=emit)
            (scratch / unit.id).write_bytes(content)
            ready.append((unit, name))
        return tuple(_place(request, unit, name, scratch / unit.id, store) for unit, name in ready)


def _place(request: WheelRequest, unit: Unit, name: WheelName, made: Path, store: Store) -> MadeWheel:
    """Bring a finished wheel to where it goes."""
    content = made.read_bytes()
    path = (request.folder or store.kernel_folder(unit.kernel) / "wheels") / name.file
    atomic.write_named(path, content)
    wanted = f"{name.distribution}=={name.version}"
    return MadeWheel(unit=unit.id, path=str(path), requirement=wanted, size=len(content), digest=of_bytes(content))


def _make(
    request: WheelRequest, unit: Unit, kernel: PlannedKernel, *, source_root: Path, store: Store, emit: Emit
) -> tuple[WheelName, bytes]:
    collected = _collected(unit, store)
    version: Version = release_version(request.tag, kernel.name, kernel.version)
    portable = _is_portable(unit, collected, store)
    if not portable:
        emit(Notice(level="warning", message="needs newer system libraries than manylinux_2_28 has", where=unit.id))
    distribution = distribution_name(request.name, kernel.name)
    name = wheel_name(distribution, version, parse_variant(unit.variant), portable=portable)
    folder = store.variants_folder(kernel.name) / unit.variant
    metadata = _metadata(folder / METADATA_NAME)
    payload = _payload(folder, metadata)
    path = source_root / kernel.path / "build.toml"
    manifest: Manifest = parse_manifest(read_input(path), str(path))
    info, module = f"{name.escaped}.dist-info", module_name(kernel.name)
    files = {f"{module}/{path}": content for path, content in payload.items()}
    files[f"{info}/METADATA"] = core_metadata(name, unit, metadata, manifest, repository=kernel.repo_id)
    files[f"{info}/WHEEL"] = wheel_file(name)
    return name, build_archive(files, info)


def _collected(unit: Unit, store: Store) -> CollectedVariant:
    coverage = store.read_coverage(unit.kernel)
    if isinstance(coverage, Absent):
        raise InputError(f"nothing was collected: {coverage.reason}", where=unit.kernel, fix=_RUN)
    found = next((each for each in coverage.variants if each.unit == unit.id), None)
    if found is None:
        reasons = [cell.reason for cell in coverage.cells if cell.cell in unit.serves]
        why = reasons[0] if reasons else "it is not in coverage.json"
        raise InputError(f"it was not collected: {why}", where=unit.id, fix="Build it, or choose others with --only.")
    return found


def _is_portable(unit: Unit, collected: CollectedVariant, store: Store) -> bool:
    """Return whether the audit holds a variant to manylinux_2_28: its rule was applied, and nothing of it waived."""
    audit = store.read_record(unit.id, AuditRecord, artifact=collected.artifact_digest)
    if isinstance(audit, Absent):
        raise InputError(f"no audit speaks of it: {audit.reason}", where=unit.id, fix=_RUN)
    waived = {each.finding.rule for each in audit.waived} | {finding.rule for finding in audit.findings}
    return audit.outcome is Outcome.PASSED and _CEILINGS in audit.rules and _CEILINGS not in waived


def _metadata(path: Path) -> Metadata:
    try:
        return document.from_json(path.read_bytes(), Metadata)
    except (OSError, document.DocumentError) as err:
        raise InputError(f"it cannot be read: {err}", where=str(path), fix="Run `rocmatrix collect` again.") from err


def _payload(folder: Path, metadata: Metadata) -> dict[str, bytes]:
    """Return the files of a variant, which are those that were collected; its signature stays on the Hub.

    Raises:
        InputError: a file is not the one that metadata.json speaks of.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    content = {name: path.read_bytes() for name, path in paths.items() if is_hashed(name) and not path.is_symlink()}
    found = {name: base64.b64encode(hashlib.sha256(data).digest()).decode() for name, data in content.items()}
    wanted = metadata.digest.files
    odd = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    if odd:
        raise InputError(f"{odd[0]} changed since it was collected", where=str(folder), fix=_RUN)
    return {**content, METADATA_NAME: paths[METADATA_NAME].read_bytes()}
