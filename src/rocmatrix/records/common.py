"""Words that every record has."""

from __future__ import annotations

from enum import StrEnum

RECORD_SCHEMA = 1


class Outcome(StrEnum):
    """How a stage ended for one unit."""

    PASSED = "passed"
    FAILED = "failed"
