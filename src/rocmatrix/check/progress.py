"""How far the cases of a unit are, counted across the processes that run them."""

from __future__ import annotations

import threading

from rocmatrix.check.interface import Progress
from rocmatrix.records import CaseResult


class Tally:
    """Counts results as they come, from any thread, and passes each on as progress."""

    def __init__(self, total: int, progress: Progress) -> None:
        """Start with none of ``total``."""
        self._total = total
        self._progress = progress
        self._done = 0
        self._lock = threading.Lock()

    def take(self, result: CaseResult) -> None:
        """Count a result."""
        with self._lock:
            self._done += 1
            word = "" if result.passed else " failed"
            self._progress(self._done, self._total, f"{result.case}{word} ({result.seconds:.1f} s)")
