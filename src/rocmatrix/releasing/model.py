"""What a release is asked to do, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rocmatrix.release.signing import SignMode
from rocmatrix.releasing.transport import Transport

EMBEDDED = "embedded"


class Outcome(StrEnum):
    """How a release ended."""

    RELEASED = "released"
    ALREADY = "already released"
    DRY_RUN = "dry run"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a release was asked to do.

    Attributes:
        matrix: path of matrix.yaml.
        out: the output folder.
        tag: of the sources.
        hub: address of the Hub, and for the transport ``git`` the address below which repositories lie; ``embedded``
            for one that is started for this command; ``None`` for the client's own.
        dry_run: look at everything, write nothing.
        untested: whether variants that nothing executed may be released.
        drop: torch and ROCm pairs that earlier users may lose, as ``torch2.12-rocm7.1``.
        sign: whether variants are signed.
        trust: trust configuration of a private Sigstore; ``None`` for the public one.
        transport: how the Hub is spoken to.
        builds_on_main: whether ``main`` gets the variants too, as old clients look there for version 1.
    """

    matrix: Path
    out: Path
    tag: str
    hub: str | None = None
    dry_run: bool = False
    untested: bool = False
    drop: tuple[str, ...] = field(default=())
    sign: SignMode = SignMode.AUTO
    trust: Path | None = None
    builds_on_main: bool = False
    transport: Transport = Transport.API


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a release came to.

    Attributes:
        kernel: which one.
        repository: on the Hub.
        hub: its address.
        tag: on the Hub.
        commit: that it points at; ``None`` for a dry run.
        outcome: how it ended.
        variants: names of what was published.
        size: bytes of all files together.
        credential: where the credential came from.
    """

    kernel: str
    repository: str
    hub: str
    tag: str
    commit: str | None
    outcome: Outcome
    variants: tuple[str, ...]
    size: int
    credential: str
