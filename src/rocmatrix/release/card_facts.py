"""What a card is made from."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Plan
from rocmatrix.records import Coverage
from rocmatrix.release.content import Content
from rocmatrix.release.source_tag import Release


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """What a card is made from; nothing in it depends on the clock or on who releases.

    Attributes:
        manifest: build.toml.
        plan: the promises.
        coverage: what became of them.
        content: the published set.
        release: the tag.
        commit: of the sources.
    """

    manifest: Manifest
    plan: Plan
    coverage: Coverage
    content: Content
    release: Release
    commit: str
