"""One maker at a time for each private environment, and none while a run uses it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


class EnvironmentLock:
    """A lock file, held by ``flock(2)``: the kernel lets go of it when the last process that has it open is gone.

    A run shares it for as long as it lives (the descriptor stays open across ``exec``), so that another start does not
    replace the environment under it. Making one excludes everybody else; pip inherits the descriptor too, so that a
    pip whose parent was killed still keeps the next start waiting until it has ended.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not for writing: an environment that root made once may be used by everybody.
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def share(self, waiting: Callable[[], None]) -> None:
        """Hold it together with other runs; call ``waiting`` once if somebody has it alone, then wait for that one."""
        self._take(fcntl.LOCK_SH, waiting)

    def exclude(self, waiting: Callable[[], None]) -> None:
        """Hold it alone; call ``waiting`` once if anybody else has it, then wait."""
        self._take(fcntl.LOCK_EX, waiting)

    def keep_across_exec(self) -> None:
        """Stay held by the program that this process becomes, though not by the programs which that one starts."""
        os.set_inheritable(self.descriptor, True)  # noqa: FBT003 - the standard library takes it by position

    def _take(self, kind: int, waiting: Callable[[], None]) -> None:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(self.descriptor, kind)
