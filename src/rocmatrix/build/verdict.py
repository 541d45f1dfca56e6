"""Whether an earlier build of a unit still holds, and the reason in a few words for people."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.build.identity import inputs_digest
from rocmatrix.records import BuildRecord, InputDigests, Outcome
from rocmatrix.store import Absent

_CHANGES = {
    "sources": "sources changed",
    "toolchain": "toolchain changed",
    "headers": "torch headers changed",
    "unit": "the plan asks for something else",
    "recipe": "rocmatrix builds it differently now",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to do about a unit.

    Attributes:
        reusable: the record that holds; ``None`` if the unit is to be built.
        reason: why it is reused or built.
    """

    reusable: BuildRecord | None
    reason: str


def judge(earlier: BuildRecord | Absent, inputs: InputDigests, *, use_cache: bool) -> Verdict:
    """Return whether an earlier build holds for these inputs."""
    if not use_cache:
        return Verdict(reusable=None, reason="--no-cache")
    if isinstance(earlier, Absent):
        return Verdict(reusable=None, reason=earlier.reason.replace("not done before", "not built before"))
    if earlier.inputs_digest != inputs_digest(inputs):
        return Verdict(reusable=None, reason=_changes(earlier.inputs, inputs))
    if earlier.outcome is Outcome.FAILED:
        return Verdict(reusable=None, reason="failed before")
    return Verdict(reusable=earlier, reason="inputs unchanged")


def _changes(before: InputDigests | None, now: InputDigests) -> str:
    if before is None:
        return "inputs changed"
    changed = [name for name in _CHANGES if getattr(before, name) != getattr(now, name)]
    if before.headers is None and "toolchain" in changed:  # headers were not asked for while there was no toolchain
        changed = [name for name in changed if name != "headers"]
    return ", ".join(_CHANGES[name] for name in changed)
