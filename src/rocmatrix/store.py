"""The store: the output folder. The only module that knows its layout.

Every write is atomic (``rocmatrix.atomic``): a process killed at any instant leaves the old state or the new one, and
``Store.recover`` sweeps up what lies between. A record is handed out only if it parses and if the artifact beside it is
the one that it speaks of.

::

    plan.json
    units/<unit-id>/payload/...  build.json  build.log  audit.json  check.json  bench.json
    kernels/<name>/build/<variant>/...  coverage.json
    summary.md                   what became of every promise, for people
    work/                        what builds leave for the next one; may be deleted at any time
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from rocmatrix import atomic, digest, document
from rocmatrix.digest import Digest
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.input_file import read_input
from rocmatrix.plain_text import bounded
from rocmatrix.plan.agreement import is_folder_name, require_sound
from rocmatrix.plan.model import PLAN_SCHEMA, Plan, UnitId
from rocmatrix.records import RECORD_SCHEMA, AuditRecord, BuildRecord, CheckRecord, Coverage, contradiction

Record = BuildRecord | AuditRecord | CheckRecord
R = TypeVar("R", BuildRecord, AuditRecord, CheckRecord)

_FILE_NAMES: dict[type, str] = {BuildRecord: "build.json", AuditRecord: "audit.json", CheckRecord: "check.json"}
LARGEST = 64 << 20
"""Bytes of a record or a plan that are read."""

_MARKER = "CACHEDIR.TAG"
NOT_DONE = "not done before"
"""Reason of a record that was never written."""


@dataclass(frozen=True, kw_only=True)
class Absent:
    """There is no record to rely on; ``reason`` says why, for people."""

    reason: str


class Store:
    """An output folder.

    Args:
        root: the folder; made when something is first written.
    """

    def __init__(self, root: Path) -> None:
        """Remember the folder; nothing is read or written yet."""
        self.root = root.absolute()

    # -- the plan ------------------------------------------------------------------------------------------------

    @property
    def plan_path(self) -> Path:
        """Path of ``plan.json``."""
        return self.root / "plan.json"

    @property
    def summary_path(self) -> Path:
        """Path of ``summary.md``."""
        return self.root / "summary.md"

    def write_plan(self, plan: Plan) -> None:
        """Write ``plan.json``."""
        atomic.write_file(self.plan_path, document.to_json(plan))

    def read_plan(self) -> Plan:
        """Return the plan of this folder.

        Raises:
            InputError: there is none, it is no regular file of reasonable size, it does not parse, or it is none that a
                planner makes.
        """
        try:
            plan = document.from_json(_read(self.plan_path), Plan)
        except FileNotFoundError as err:
            raise InputError(
                "there is no plan here",
                where=str(self.plan_path),
                fix="Run `rocmatrix plan` with the same --out first.",
            ) from err
        except document.DocumentError as err:
            raise InputError(
                f"this is not a plan: {bounded(str(err))}", where=str(self.plan_path), fix="Run `rocmatrix plan` again."
            ) from err
        document.require_schema(plan.schema, PLAN_SCHEMA, str(self.plan_path))
        require_sound(plan, where=str(self.plan_path))
        return plan

    # -- units ---------------------------------------------------------------------------------------------------

    def unit_folder(self, unit: UnitId) -> Path:
        """Path of a unit's folder."""
        return self.root / "units" / _one_name(unit)

    def payload(self, unit: UnitId) -> Path:
        """Path of what the unit's build made."""
        return self.unit_folder(unit) / "payload"

    def build_log(self, unit: UnitId) -> Path:
        """Path of the log of the unit's build."""
        return self.unit_folder(unit) / "build.log"

    def replace_payload(self, unit: UnitId, staged: Path) -> Digest:
        """Move a finished folder into the place of the unit's payload and return its digest.

        The staged folder must be on the same file system, e.g. below ``work``.
        """
        made = digest.of_folder(staged)
        atomic.replace_folder(self.payload(unit), staged)
        return made

    def discard_payload(self, unit: UnitId) -> None:
        """Remove the unit's payload, so that nothing can be collected from a build that failed."""
        atomic.discard_folder(self.payload(unit))

    def write_record(self, record: Record) -> None:
        """Write a stage's record beside the payload it speaks of."""
        atomic.write_file(self._record_path(record.unit, type(record)), document.to_json(record))

    def read_record(self, unit: UnitId, kind: type[R], *, artifact: Digest | None = None) -> R | Absent:
        """Return a stage's record, or why there is none to rely on.

        A record counts as absent if it is no regular file of reasonable size, does not parse, speaks of another unit,
        or names an artifact digest that the payload beside it does not have, or, where the payload lies elsewhere, that
        is not ``artifact``. The record of a failed build speaks of no artifact.
        """
        path = self._record_path(unit, kind)
        record = _parsed(path, kind)
        if isinstance(record, Absent):
            return record
        if record.schema != RECORD_SCHEMA:
            return Absent(reason=f"{path.name} has schema {record.schema}, not {RECORD_SCHEMA}")
        if record.unit != unit:
            return Absent(reason=bounded(f"{path.name} speaks of {record.unit}"))
        if record.artifact_digest is not None and record.artifact_digest != (artifact or self.payload_digest(unit)):
            return Absent(reason=f"the payload is not the one that {path.name} speaks of")
        if isinstance(record, CheckRecord) and (odd := contradiction(record)):
            return Absent(reason=f"{path.name} contradicts itself: {odd}")
        return record

    def payload_digest(self, unit: UnitId) -> Digest | None:
        """Return the digest of the unit's payload as it lies there; ``None`` if there is none."""
        payload = self.payload(unit)
        return digest.of_folder(payload) if payload.is_dir() else None

    def _record_path(self, unit: UnitId, kind: type) -> Path:
        return self.unit_folder(unit) / _FILE_NAMES[kind]

    # -- collected kernels ---------------------------------------------------------------------------------------

    def kernel_folder(self, kernel: str) -> Path:
        """Path of the folder of a collected kernel."""
        return self.root / "kernels" / _one_name(kernel)

    def variants_folder(self, kernel: str) -> Path:
        """Path of ``build/`` of a collected kernel: what goes to the Hub as it is."""
        return self.kernel_folder(kernel) / "build"

    def replace_variants(self, kernel: str, staged: Path) -> None:
        """Move a finished ``build/`` folder into place; variants that it lacks are gone afterwards."""
        atomic.replace_folder(self.variants_folder(kernel), staged)

    def write_coverage(self, coverage: Coverage) -> None:
        """Write ``coverage.json`` of a kernel."""
        atomic.write_file(self.kernel_folder(coverage.kernel) / "coverage.json", document.to_json(coverage))

    def discard_coverage(self, kernel: str) -> None:
        """Remove ``coverage.json`` of a kernel, so that it never speaks of other variants than those beside it."""
        (self.kernel_folder(kernel) / "coverage.json").unlink(missing_ok=True)

    def read_coverage(self, kernel: str) -> Coverage | Absent:
        """Return the coverage of a collected kernel, or why there is none to rely on."""
        path = self.kernel_folder(kernel) / "coverage.json"
        try:
            return document.from_json(_read(path), Coverage)
        except FileNotFoundError:
            return Absent(reason="not collected yet")
        except InputError as err:
            return Absent(reason=f"coverage.json does not count: {err.what}")
        except document.DocumentError as err:
            return Absent(reason=bounded(f"coverage.json cannot be read: {err}"))

    # -- work, locking, recovery ---------------------------------------------------------------------------------

    @property
    def work(self) -> Path:
        """Path of the folder for intermediate files, on the same file system as all the rest."""
        return self.root / "work"

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Give a new empty folder below ``work`` and remove it afterwards."""
        self.work.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}{atomic.PARTIAL}", dir=self.work))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other rocmatrix processes out of this folder, and mend what a killed one left.

        Raises:
            MissingRequirementError: another process is working here.
            InputError: the path is not a folder or cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.root / ".lock")
            lock.acquire(timeout=0)
        except Timeout as err:
            raise MissingRequirementError(
                "another rocmatrix is working in this output folder",
                where=str(self.root),
                fix="Wait for it to end, or choose another folder with --out.",
            ) from err
        except OSError as err:
            raise InputError(
                f"the output folder cannot be used: {err.strerror}",
                where=str(self.root),
                fix="Choose another with --out.",
            ) from err
        try:
            self.recover()
            yield
        finally:
            lock.release()

    def recover(self) -> None:
        """Put back what was renamed aside and not replaced, and remove what was never finished.

        Only the store's own folders are looked at: a payload may hold files of any name.
        """
        self._mark()
        atomic.recover([self.root, self.work, *self.root.glob("units/*"), *self.root.glob("kernels/*")])

    def _mark(self) -> None:
        """Tell backup tools that this folder can be made again (the Cache Directory Tagging convention)."""
        marker = self.root / _MARKER
        if not marker.exists():
            marker.write_text("Signature: 8a477f597d28d172789f06886806bc55\n# Made by rocmatrix; can be made again.\n")


def _read(path: Path) -> bytes:
    """Return the content of a file of the store; an output folder may come from a machine that nobody trusts.

    Raises:
        FileNotFoundError: it is not there.
        InputError: it is no regular file, is larger than ``LARGEST`` bytes or cannot be read.
    """
    try:
        return read_input(path, largest=LARGEST)
    except InputError as err:
        if isinstance(err.__cause__, FileNotFoundError):
            raise err.__cause__ from None
        raise


def _parsed(path: Path, kind: type[R]) -> R | Absent:
    """Return the record in a file, or why it is none."""
    try:
        return document.from_json(_read(path), kind)
    except FileNotFoundError:
        return Absent(reason=NOT_DONE)
    except InputError as err:
        return Absent(reason=f"{path.name} does not count: {err.what}")
    except document.DocumentError as err:
        return Absent(reason=bounded(f"{path.name} cannot be read: {err}"))


def _one_name(name: str) -> str:
    """Return a name that comes from a file and becomes one component of a path, or refuse it."""
    if not is_folder_name(name):
        raise InputError(f"{name!r} cannot name a folder", fix="Make the plan again with `rocmatrix plan`.")
    return name
