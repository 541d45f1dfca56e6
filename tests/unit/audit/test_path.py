"""What a directory's own name promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmatrix.audit.path import audit_path
from rocmatrix.errors import InputError
from rocmatrix.records import Outcome


def noarch(folder: Path) -> Path:
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    digest = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    (folder / "metadata.json").write_text(
        '{"name": "gemm", "id": "_gemm_rocm_0", "version": 1, "license": "x", "python-depends": [], '
        '"backend": {"type": "rocm"}, '
        f'"digest": {{"algorithm": "sha256", "files": {{"__init__.py": "{digest}"}}}}}}'
    )
    return folder


def test_a_noarch_variant_needs_no_binary(tmp_path: Path) -> None:
    found = audit_path(noarch(tmp_path / "torch-rocm"))
    assert (found.outcome, found.findings) == (Outcome.PASSED, ())


def test_a_variant_for_a_torch_needs_one(tmp_path: Path) -> None:
    found = audit_path(noarch(tmp_path / "torch213-cxx11-rocm72-x86_64-linux"))
    assert found.outcome is Outcome.FAILED
    assert any("the one extension module must be" in finding.what for finding in found.findings)


def test_a_directory_of_a_rocm_that_nobody_knows_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ROCm 9\.9 is not known"):
        audit_path(noarch(tmp_path / "torch213-cxx11-rocm99-x86_64-linux"))
