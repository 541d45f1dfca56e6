"""What the client refuses of a metadata.json is refused here, and what it takes is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernels._rust import Metadata

from rocmatrix.audit.client_metadata import metadata_problem

GOOD: dict[str, Any] = {
    "name": "gemm",
    "id": "_gemm_rocm_0",
    "version": 1,
    "license": "Apache-2.0",
    "python-depends": [],
    "backend": {"type": "rocm", "archs": ["gfx942"]},
}
MISTAKES: list[dict[str, Any]] = [
    *({key: value for key, value in GOOD.items() if key != missing} for missing in GOOD),
    GOOD | {"name": "a_b"},
    GOOD | {"name": "Gemm"},
    GOOD | {"version": -1},
    GOOD | {"version": "1"},
    GOOD | {"version": 1.5},
    GOOD | {"license": None},
    GOOD | {"python-depends": "einops"},
    GOOD | {"backend": {"type": "opencl"}},
    GOOD | {"backend": {"archs": ["gfx942"]}},
    GOOD | {"kernels-minver": "99.0"},
    GOOD | {"digest": {"algorithm": "md5", "files": {}}},
    GOOD | {"provenance": {}},
    GOOD | {"kernel-depends": [{"repo-id": "a/b"}]},
]
ACCEPTED: list[dict[str, Any]] = [
    GOOD,
    GOOD | {"rocmatrix": {"schema": 1}, "another": None},
    GOOD | {"id": "a-b"},
    GOOD | {"kernels-minver": "0.17.2"},
    GOOD | {"kernel-depends": [{"repo-id": "a/b", "version": 1}, {"repo-id": "a/c", "revision": "main"}]},
    GOOD | {"provenance": {"kernel-builder": {"version": "rocmatrix/1"}}},
    GOOD | {"digest": {"algorithm": "sha512", "files": {"a": "b"}}},
]


@pytest.mark.parametrize(
    ("content", "accepted"), [*((one, False) for one in MISTAKES), *((one, True) for one in ACCEPTED)]
)
def test_the_client_and_this_agree(tmp_path: Path, content: dict[str, Any], accepted: bool) -> None:  # noqa: FBT001 - a parameter
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(content))
    assert (metadata_problem(path) is None) == accepted
    if accepted:
        Metadata.read_from_file(path)
    else:
        with pytest.raises(ValueError, match="Cannot parse metadata"):
            Metadata.read_from_file(path)
