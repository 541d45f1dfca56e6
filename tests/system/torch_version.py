"""What the torch of this Python calls itself, without an import of it.

Tests of the emulator's host load stand-ins of ``libtorch_cpu.so`` into the process of pytest; the real torch, imported
after them, would be linked with the stand-in. So no test imports torch in that process (ruff holds it, TID251).
"""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path


def torch_version() -> str:
    """Return what ``torch.__version__`` is, with the part after + that a wheel's version may lack."""
    spec = find_spec("torch")
    assert spec is not None, "torch is not installed"
    assert spec.origin is not None
    return str(runpy.run_path(str(Path(spec.origin).with_name("version.py")))["__version__"])
