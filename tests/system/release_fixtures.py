"""Fixtures of the tests of releases: an embedded Hub for each test, and what is released onto it.

The libraries of the Hub are imported when a fixture is made: tests that need none run where they are not installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system.verbs import Verbs, verbs

if TYPE_CHECKING:
    from tests.system.hub import RunningHub
    from tests.system.release_source import Source


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    """An empty Hub."""
    from rocmatrix.release.api_hub import limit_requests  # noqa: PLC0415
    from tests.system.hub import serving  # noqa: PLC0415

    limit_requests()
    with serving(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    """A process that runs commands of a user without a credential."""
    home = tmp_path_factory.mktemp("commands")
    with verbs({"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home)}) as running:
        yield running


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """What is released."""
    from tests.system.release_source import make_source  # noqa: PLC0415

    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The next version, with other bytes in one variant."""
    from tests.system.release_source import make_source  # noqa: PLC0415

    return make_source(tmp_path_factory.mktemp("changed"), tag="v2.1.0", line="CHANGED = True")
