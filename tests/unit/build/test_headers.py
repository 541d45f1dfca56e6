import os
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.build.headers import SharedHeaders
from rocmatrix.errors import MissingRequirementError
from rocmatrix.toolchain.torch_headers import stable_pin


def test_a_failed_fetch_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    headers = SharedHeaders(replace(stable_pin(), version="9.9.9"), cache=tmp_path, emit=lambda _: None)
    with pytest.raises(MissingRequirementError) as first:
        headers.get()
    with pytest.raises(MissingRequirementError) as second:
        headers.get()
    assert first.value is second.value
