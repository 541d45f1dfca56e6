"""What the stages before left of a unit: enough to publish it, or which stage is to blame that it is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocmatrix.digest import Digest
from rocmatrix.errors import ExitCode
from rocmatrix.plan.model import Unit
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Outcome, Severity, Tested
from rocmatrix.store import Absent, Store


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A unit that may be published.

    Attributes:
        artifact: digest of the payload that all three records speak of.
        archs: gfx archs that were read in every binary with GPU code, sorted; empty for noarch.
        tested: what executed the kernel.
        reason: on which device it was tested, or why it was not.
    """

    build: BuildRecord
    artifact: Digest
    archs: tuple[str, ...]
    tested: Tested
    reason: str


@dataclass(frozen=True, kw_only=True)
class NotReady:
    """A unit that must not be published.

    Attributes:
        reason: names the stage and what it said.
        blamed: what the stage's failure ends a command with.
        tested: what executed the kernel, if anything did.
    """

    reason: str
    blamed: ExitCode
    tested: Tested = Tested.UNTESTED


def weigh(store: Store, unit: Unit) -> Ready | NotReady:
    """Return whether a unit's records allow it to be published.

    It takes a build and an audit that passed and speak of the payload that lies there. A check that failed forbids it;
    a check that is missing leaves it untested.
    """
    build = store.read_record(unit.id, BuildRecord)
    if isinstance(build, Absent):
        return NotReady(reason=f"there is no build to rely on: {build.reason}", blamed=ExitCode.BUILD)
    if build.outcome is Outcome.FAILED or build.artifact_digest is None:
        error = _first_line(build.error or "build.json names no artifact")
        return NotReady(reason=f"the build failed: {error}", blamed=ExitCode.BUILD)
    audit = store.read_record(unit.id, AuditRecord)
    if isinstance(audit, Absent):
        return NotReady(reason=f"there is no audit to rely on: {audit.reason}", blamed=ExitCode.AUDIT)
    if audit.outcome is Outcome.FAILED:
        return NotReady(reason=f"the audit failed: {_first_error(audit)}", blamed=ExitCode.AUDIT)
    archs = archs_in_every_binary(audit)
    if archs != tuple(sorted(unit.archs)):
        reason = f"audit.json found {_listed(archs)}, but the plan promises {_listed(unit.archs)}"
        return NotReady(reason=reason, blamed=ExitCode.AUDIT)
    return _checked(store, unit, build, build.artifact_digest, archs)


def blame(store: Store, units: Iterable[Unit]) -> tuple[ExitCode, ...]:
    """Return, for each unit that was not collected, the exit code of the stage that is to blame.

    Where all records allow a unit, its payload is not what they say: the build's.
    """
    weighed = (weigh(store, unit) for unit in units)
    return tuple(each.blamed if isinstance(each, NotReady) else ExitCode.BUILD for each in weighed)


def archs_in_every_binary(audit: AuditRecord) -> tuple[str, ...]:
    """Return the gfx archs that all binaries with GPU code have, sorted."""
    per_binary = [set(binary.archs) for binary in audit.binaries if binary.archs]
    return tuple(sorted(set.intersection(*per_binary))) if per_binary else ()


def _checked(
    store: Store, unit: Unit, build: BuildRecord, artifact: Digest, archs: tuple[str, ...]
) -> Ready | NotReady:
    check = store.read_record(unit.id, CheckRecord)
    if isinstance(check, Absent):
        tested, reason = Tested.UNTESTED, f"there is no check to rely on: {check.reason}"
    elif check.outcome is Outcome.FAILED:
        reason = f"the check failed: {_first_line(check.reason)}"
        return NotReady(reason=reason, blamed=ExitCode.CHECK, tested=check.tested)
    else:
        tested, reason = check.tested, check.reason
    return Ready(build=build, artifact=artifact, archs=archs, tested=tested, reason=reason)


def _first_error(audit: AuditRecord) -> str:
    errors = (finding for finding in audit.findings if finding.severity is Severity.ERROR)
    return next((f"{finding.rule}: {finding.what}" for finding in errors), "audit.json does not say why")


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _listed(archs: tuple[str, ...]) -> str:
    return ", ".join(sorted(archs)) or "no gfx arch"
