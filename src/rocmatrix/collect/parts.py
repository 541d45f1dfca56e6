"""Output folders of several machines, merged into one: what each of them built, audited and checked.

Of every unit there may be one artifact only: two machines that made different bytes of the same inputs are a fault that
nobody should choose between. Records are taken only where they speak of that artifact. Of a machine that only checks,
nothing but the record of the check is read, whatever else it left: it cannot give a release its files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rocmatrix import digest, document
from rocmatrix.digest import Digest
from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Notice
from rocmatrix.plain_text import bounded
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Outcome, Tested
from rocmatrix.store import NOT_DONE, Absent, Store

_R = TypeVar("_R", AuditRecord, CheckRecord)

_EVIDENCE = (Tested.UNTESTED, Tested.EMULATED, Tested.OTHER_GPU, Tested.MI300X)
"""From the weakest to the best."""

_ON_A_GPU = (Tested.OTHER_GPU, Tested.MI300X)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A record and the output folder that it lies in."""

    store: Store
    record: BuildRecord


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Output folders of other machines.

    Attributes:
        whole: builds, audits and checks are taken from these.
        emulated: checks alone are, of machines with the emulator; no check on a GPU counts without one of them.
        checks: checks on a GPU and failures alone are: what the emulator says is taken from ``emulated``.
    """

    whole: Sequence[Path] = ()
    emulated: Sequence[Path] = ()
    checks: Sequence[Path] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        return (*self.whole, *self.emulated, *self.checks)


def merge_parts(parts: Parts, into: Store, emit: Emit) -> None:
    """Merge output folders into one; units that no part has stay as they are there.

    The folder that is merged into takes part in the comparison, so that merging twice changes nothing. Checks may come
    without their payload, as a machine with a GPU leaves them: a failed one is kept before all others, then that of the
    best evidence. Every text of the check that is taken is made one printable line of limited length: metadata.json
    and the card repeat it.

    Raises:
        InputError: a part is no output folder, has another plan, or another artifact of the same unit; or a GPU's check
            comes without that of the emulator.
    """
    plan = plan_of(parts, into)
    whole, emulated, checks = (list(map(Store, folders)) for folders in (parts.whole, parts.emulated, parts.checks))
    if not into.plan_path.is_file():
        into.write_plan(plan)
    for part in (*whole, *emulated, *checks):
        if not any(part.unit_folder(unit.id).is_dir() for unit in plan.units):
            said = "nothing is taken from it: it has no unit of the plan"
            emit(Notice(level="warning", message=said, where=str(part.root)))
    for unit in plan.units:
        _merge_unit(unit, whole, _Checks(emulated=emulated, others=checks), into, emit)


def plan_of(parts: Parts, into: Store) -> Plan:
    """Return the plan that all folders agree on.

    Raises:
        InputError: one is no output folder, none has a plan, or two differ.
    """
    for part in parts.folders:
        if not part.is_dir():
            fix = "Name the --out folders of other machines."
            raise InputError("this is no output folder", where=str(part), fix=fix)
    stores = [store for store in (into, *map(Store, parts.folders)) if store.plan_path.is_file()]
    if not stores:
        raise InputError("no part has a plan", where="--from", fix="Bring plan.json of the machine that planned.")
    plan = stores[0].read_plan()
    for store in stores[1:]:
        if store.read_plan() != plan:
            fix = "Build all parts from the same commit with the same --matrix and --toolchain."
            raise InputError(f"its plan is not that of {stores[0].plan_path}", where=str(store.plan_path), fix=fix)
    return plan


@dataclass(frozen=True, kw_only=True)
class _Checks:
    """Where records of checks lie, apart from where units were built."""

    emulated: Sequence[Store]
    others: Sequence[Store]


def _merge_unit(unit: Unit, whole: Sequence[Store], checks: _Checks, into: Store, emit: Emit) -> None:
    stores = [into, *whole]
    built = [_Found(store=store, record=record) for store in stores if (record := _build(store, unit, emit))]
    made = [found for found in built if found.record.artifact_digest is not None]
    for other in made[1:]:
        if other.record.artifact_digest != made[0].record.artifact_digest:
            raise InputError(
                f"two machines made different artifacts of it: {made[0].record.artifact_digest} in "
                f"{made[0].store.root} and {other.record.artifact_digest} in {other.store.root}",
                where=unit.id,
                fix="Find out why the bytes differ (`rocmatrix audit A --against B`), and build it once.",
            )
    if not built:
        return
    chosen = (made or built)[0]
    if chosen.store is not into:
        _take(unit, chosen, into)
    if (artifact := chosen.record.artifact_digest) is not None:
        for audit in list(_records(stores, unit, AuditRecord, artifact, emit))[:1]:
            into.write_record(audit)
        emulated = tuple(_records(checks.emulated, unit, CheckRecord, artifact, emit))
        others = _on_a_gpu(_records(checks.others, unit, CheckRecord, artifact, emit), emit)
        found = (*emulated, *_records(stores, unit, CheckRecord, artifact, emit), *others)
        if checks.emulated:
            _require_emulated(unit, emulated, found)
        if found:
            into.write_record(document.with_texts(max(found, key=_weight), bounded))


def _on_a_gpu(records: Iterable[CheckRecord], emit: Emit) -> Iterator[CheckRecord]:
    """Yield what machines with a GPU found there, and every failure: that the emulator passed is not theirs to say.

    A failure counts as a GPU's, whatever it says that it is of: it would be blamed on the emulator otherwise.
    """
    for record in records:
        if record.tested in _ON_A_GPU:
            yield record
        elif record.outcome is Outcome.FAILED:
            yield replace(record, tested=Tested.OTHER_GPU)
        else:
            said = f"{record.unit}: its record does not count: it says {record.tested}, and is of no GPU"
            emit(Notice(level="warning", message=said, where="--checks-from"))


def _require_emulated(unit: Unit, emulated: Sequence[CheckRecord], found: Sequence[CheckRecord]) -> None:
    """Refuse what a GPU says of a unit of which the emulator says nothing, not even why it could not run it."""
    if any(record.tested in _ON_A_GPU for record in found) and all(record.tested in _ON_A_GPU for record in emulated):
        raise InputError(
            "a GPU's record says that it was checked, and no machine that checks on the emulator says anything of it",
            where=unit.id,
            fix="Check it there too (`rocmatrix check --on emulator`), or find out who removed its record.",
        )


def _build(store: Store, unit: Unit, emit: Emit) -> BuildRecord | None:
    record = store.read_record(unit.id, BuildRecord)
    if isinstance(record, BuildRecord):
        return record
    if record.reason != NOT_DONE:
        said = f"{unit.id}: its build does not count: {record.reason}"
        emit(Notice(level="warning", message=said, where=str(store.root)))
    return None


def _take(unit: Unit, found: _Found, into: Store) -> None:
    """Copy a unit's payload, build record and log.

    Raises:
        InputError: its payload has a link, and what that leads to is not of this build, or a pipe or a device.
    """
    payload, log = found.store.payload(unit.id), found.store.build_log(unit.id)
    into.discard_payload(unit.id)
    if found.record.artifact_digest is not None:
        for path in payload.rglob("*"):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                kind = "a link" if path.is_symlink() else "neither a file nor a folder"
                fix = "Build the unit again."
                raise InputError(f"this is {kind}, and no payload has one", where=str(path), fix=fix)
        with into.scratch("merge") as scratch:
            shutil.copytree(payload, scratch / "payload", copy_function=shutil.copyfile)
            if digest.of_folder(scratch / "payload") != found.record.artifact_digest:
                raise InputError("it changed while it was read", where=str(payload), fix="Run the command again.")
            into.replace_payload(unit.id, scratch / "payload")
    if log.is_file() and not log.is_symlink():
        into.unit_folder(unit.id).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, into.build_log(unit.id))
    into.write_record(found.record)


def _records(stores: Iterable[Store], unit: Unit, kind: type[_R], artifact: Digest, emit: Emit) -> Iterator[_R]:
    """Yield the records of a kind that speak of an artifact, also from folders that lack the payload itself."""
    for store in stores:
        record = store.read_record(unit.id, kind, artifact=artifact)
        if not isinstance(record, Absent):
            yield record
        elif record.reason != NOT_DONE:
            said = f"{unit.id}: its record does not count: {record.reason}"
            emit(Notice(level="warning", message=said, where=str(store.root)))


def _weight(check: CheckRecord) -> tuple[bool, int]:
    return check.outcome is Outcome.FAILED, _EVIDENCE.index(check.tested)
