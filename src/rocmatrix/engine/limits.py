"""How much a build may use: time everywhere, and in a container memory, processors, processes, disk and output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocmatrix.errors import InputError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST_MEMORY = 64 << 20
_PART_OF_MEMORY = 0.8


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the commands of one kernel and toolchain may use together, and each for itself.

    Attributes:
        seconds: wall time of the build of one unit; on every engine.
        memory: bytes; ``None`` is 4/5 of what the engine has. Files below ``disk`` count.
        cpus: processors; ``None`` is all that the engine has.
        processes: processes and threads at the same time.
        disk: bytes that results and intermediate files may take; ``None`` is half of ``memory``.
        printed: bytes that one command may print; in a container.
    """

    seconds: float = 3600.0
    memory: int | None = None
    cpus: float | None = None
    processes: int = 4096
    disk: int | None = None
    printed: int = 64 << 20

    def on(self, *, memory: int, cpus: int) -> Limits:
        """Return the limits with nothing left open, for an engine with so many bytes of memory and processors."""
        bytes_ = self.memory or int(memory * _PART_OF_MEMORY)
        return replace(
            self, memory=bytes_, cpus=min(self.cpus or cpus, cpus), disk=min(self.disk or bytes_ // 2, bytes_)
        )


def parse_limits(words: Sequence[str]) -> Limits:
    """Return the limits that ``NAME=VALUE`` words set; sizes take K, M, G or T for powers of 1024.

    Raises:
        InputError: a name is not one, or its value is not a number that makes sense.
    """
    limits = Limits()
    for word in words:
        name, _, value = word.partition("=")
        if name in {"memory", "disk"}:
            size = _size(word, value)
            limits = replace(limits, memory=size) if name == "memory" else replace(limits, disk=size)
        elif name == "time":
            limits = replace(limits, seconds=_number(word, value))
        elif name == "cpus":
            limits = replace(limits, cpus=_number(word, value))
        elif name == "processes":
            limits = replace(limits, processes=int(_number(word, value, least=16)))
        else:
            raise InputError(
                f"{word!r} sets no limit",
                where="--limit",
                fix="Write time=SECONDS, memory=SIZE, cpus=NUMBER, processes=NUMBER or disk=SIZE, e.g. memory=16G.",
            )
    return limits


def size_text(size: int) -> str:
    """Return bytes as people write them, e.g. ``16 GiB``."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):.3g} {unit}"
    return f"{size} bytes"


def _size(word: str, value: str) -> int:
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:iB|B)?", value)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size < _LEAST_MEMORY:
        raise InputError(
            f"{word!r}: the size is not a number of at least {size_text(_LEAST_MEMORY)}",
            where="--limit",
            fix="Write e.g. memory=16G or disk=512M.",
        )
    return size


def _number(word: str, value: str, *, least: float = 0.01) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,3})?", value) or float(value) < least:
        raise InputError(f"{word!r}: a number of at least {least} is needed", where="--limit", fix="Write e.g. cpus=2.")
    return float(value)
