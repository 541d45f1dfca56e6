"""Where this machine keeps what several runs share."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Return the folder for what several runs share: torch headers, zig's C++ library.

    ``ROCMATRIX_CACHE`` names it; else it is where this system keeps a user's caches.
    """
    named = os.environ.get("ROCMATRIX_CACHE")
    return Path(named).absolute() if named else platformdirs.user_cache_path("rocmatrix")
