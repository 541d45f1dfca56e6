"""What is wrong with the code of kernels itself, whichever wave executes it: looked for once for each kernel.

It takes a second or more for a large kernel. That a kernel is clean is kept in a folder that processes share, by the
digest of its code and of the emulator; what is not clean is looked at again.
"""

from __future__ import annotations

from pathlib import Path

from rocmatrix import digest
from rocmatrix.atomic import write_file
from rocmatrix.digest import Digest
from rocmatrix.emulator.analysis import Analysis, analyze
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.reports import Detector, UnsupportedError
from rocmatrix.emulator.translator.compiler import emulator_digest

_FOLDER = "analysis"
_CLEAN = Analysis(findings=())


class CodeFindings:
    """Looks at kernels, each once."""

    def __init__(self, detectors: frozenset[Detector], cache: Path | None) -> None:
        """Look for what these detectors see in code.

        Args:
            detectors: those that are on.
            cache: folder for what was found clean; ``None`` keeps nothing.
        """
        self._detectors = detectors
        self._cache = cache
        self._known: dict[tuple[Digest, str], Analysis] = {}

    def of(self, code: Digest, code_object: CodeObject, kernel: str) -> Analysis:
        """Return what is wrong with a kernel; what could not be looked at is a remark.

        Args:
            code: digest of the code object.
            code_object: where the kernel is.
            kernel: its name there.

        Raises:
            InputError: there is no such kernel.
        """
        if (code, kernel) not in self._known:
            self._known[code, kernel] = self._analysis(code, code_object, kernel)
        return self._known[code, kernel]

    def _analysis(self, code: Digest, code_object: CodeObject, kernel: str) -> Analysis:
        mark = self._mark(code, kernel)
        if mark is not None and mark.exists():
            return _CLEAN
        try:
            analysis = analyze(code_object, kernel, self._detectors)
        except UnsupportedError as err:
            return Analysis(findings=(), remarks=(err.what,))
        if mark is not None and analysis == _CLEAN:
            write_file(mark, b"")
        return analysis

    def _mark(self, code: Digest, kernel: str) -> Path | None:
        if self._cache is None:
            return None
        identity = f"{code} {kernel} {' '.join(sorted(self._detectors))} {emulator_digest()}"
        return self._cache / _FOLDER / digest.of_bytes(identity.encode()).partition(":")[2][:32]
