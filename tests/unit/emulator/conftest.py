"""Float arithmetic on special values is what these tests are about: NumPy need not warn of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield
