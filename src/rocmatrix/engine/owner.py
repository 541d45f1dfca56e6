"""Who owns what rocmatrix made in a docker engine: one process, named so that others can tell whether it still lives.

A process id alone says little: the engine may serve several machines, and a machine several PID namespaces. An owner
is therefore machine, boot, PID namespace, process id and the process's start. Of an owner on another machine, or in
another PID namespace of this boot, nobody here can say whether it lives; it counts as living.
"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A process on some machine; its text form has the five parts joined by ``:``.

    Attributes:
        machine: digest of the machine's id, which is not to be shown to others.
        boot: the kernel's boot id, shortened.
        namespace: inode of the PID namespace.
        process: process id in that namespace.
        started: clock ticks after boot at which it started (``/proc/PID/stat``, field 22).
    """

    machine: str
    boot: str
    namespace: str
    process: int
    started: int

    def __str__(self) -> str:
        """Return the text form."""
        return f"{self.machine}:{self.boot}:{self.namespace}:{self.process}:{self.started}"

    @property
    def is_gone(self) -> bool:
        """Whether the process certainly runs no more, as far as can be told from here."""
        here = this_process()
        if self.machine != here.machine:
            return False
        if self.boot != here.boot:
            return True
        return self.namespace == here.namespace and _started(self.process) != self.started


def parse_owner(text: str) -> Owner | None:
    """Return the owner of this text form, or ``None`` if it is none."""
    parts = text.split(":")
    if len(parts) != 5 or not (parts[3].isdecimal() and parts[4].isdecimal()):  # noqa: PLR2004 - the five parts
        return None
    return Owner(machine=parts[0], boot=parts[1], namespace=parts[2], process=int(parts[3]), started=int(parts[4]))


def this_process() -> Owner:
    """Return this process as an owner; a child made by ``fork`` is another one than its parent."""
    process = os.getpid()
    machine, boot, namespace = _place()
    return Owner(machine=machine, boot=boot, namespace=namespace, process=process, started=_started(process) or 0)


@cache
def _place() -> tuple[str, str, str]:
    return _machine(), _text("/proc/sys/kernel/random/boot_id")[:8] or "unknown", _namespace()


def _machine() -> str:
    """Return a digest of ``/etc/machine-id``, which machine-id(5) wants hashed, else of the host name."""
    named = _text("/etc/machine-id") or platform.node()
    return hashlib.sha256(b"rocmatrix " + named.encode()).hexdigest()[:12]


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return "unknown"


def _started(process: int) -> int | None:
    """Return when a process started; ``None`` if there is none of this number, or only a zombie."""
    stat = _text(f"/proc/{process}/stat")
    fields = stat.rpartition(")")[2].split()  # the program's name, in parentheses, may hold spaces
    if len(fields) < 20 or fields[0] in {"Z", "X"}:  # noqa: PLR2004 - field 22 of the line is the 20th after the name
        return None
    return int(fields[19])


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
