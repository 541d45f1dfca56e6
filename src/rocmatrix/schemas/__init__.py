"""JSON Schemas of the files that stages hand to each other: generated from the dataclasses, shipped beside this module.

``python -m rocmatrix.schemas`` writes them anew; a test compares them with the dataclasses.
"""

from __future__ import annotations

from importlib.resources import files

from rocmatrix import document
from rocmatrix.cases import CaseDescription
from rocmatrix.events import Notice, RunStarted, Transfer, UnitFinished, UnitProgress, UnitStarted
from rocmatrix.metadata import Metadata
from rocmatrix.plan.model import Plan
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Coverage

DOCUMENTS: dict[str, type] = {
    "plan": Plan,
    "build": BuildRecord,
    "audit": AuditRecord,
    "check": CheckRecord,
    "coverage": Coverage,
    "metadata": Metadata,
    "case": CaseDescription,
    "event-run-started": RunStarted,
    "event-unit-started": UnitStarted,
    "event-unit-progress": UnitProgress,
    "event-unit-finished": UnitFinished,
    "event-transfer": Transfer,
    "event-notice": Notice,
}
"""Name of each document -> the dataclass that it is."""


def generate(name: str) -> bytes:
    """Return the text of the schema of a document, from its dataclass; raises ``KeyError`` for an unknown name."""
    return document.to_json(document.schema(DOCUMENTS[name]))


def shipped(name: str) -> bytes:
    """Return the text of the schema of a document as it is shipped; raises ``FileNotFoundError`` if it is not."""
    return files(__name__).joinpath(f"{name}.schema.json").read_bytes()
