"""The adapter for private parts of the client: pinned, and able to say no."""

import json
from pathlib import Path

import pytest

from tests.system import client
from tests.system.client import System, resolve


def test_the_client_is_the_version_whose_private_parts_the_adapter_knows() -> None:
    assert client.installed() == client.PINNED, (
        f"kernels {client.installed()} is installed: read what tests/system/client.py uses of it, then move PINNED"
    )


def test_the_adapter_resolves_as_the_client_documents_it() -> None:
    variants = ("torch213-cxx11-rocm72-x86_64-linux", "torch-stable-abi211-rocm72-x86_64-linux", "torch-rocm")
    assert resolve(variants, System(torch="2.13", backend="rocm7.2")).variant == variants[1]
    assert resolve(variants, System(torch="2.10", backend="rocm7.2")).variant == variants[2]
    resolution = resolve(variants[:2], System(torch="2.13", backend="rocm7.14"))
    assert resolution.variant is None
    assert "rocm714" in resolution.rejected[variants[0]]


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_the_adapter_sees_a_variant_that_is_not_what_its_metadata_states(tmp_path: Path, change: str) -> None:
    (tmp_path / "__init__.py").write_text("")
    digest = {"algorithm": "sha256", "files": {"__init__.py": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}}
    stated = {"name": "ab", "id": "_ab", "version": 1, "license": "MIT", "python-depends": []}
    text = json.dumps({**stated, "backend": {"type": "rocm"}, "digest": digest})
    (tmp_path / "metadata.json").write_text(text)
    assert client.digest_violations(tmp_path) == []
    if change == "edit":
        (tmp_path / "__init__.py").write_text("x")
    elif change == "add":
        (tmp_path / "more.py").write_text("")
    else:
        (tmp_path / "__init__.py").unlink()
    assert len(client.digest_violations(tmp_path)) == 1
