"""Failures are marked at the author's own line."""

from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.report.annotations import failure_annotations, refusal_annotation
from tests.unit.report import story


def test_a_compile_error_is_marked_in_the_kernels_own_file(tmp_path: Path) -> None:
    source = tmp_path / "kernels" / "gemm" / "gemm" / "gemm.hip"
    source.parent.mkdir(parents=True)
    source.touch()
    subject = story.make_subject(matrix=tmp_path / "matrix.yaml")
    (command,) = failure_annotations(subject, {"GITHUB_WORKSPACE": str(tmp_path)})
    unit = story.unit_id(story.FAILED_ROCM)
    assert command.startswith(
        f"::error title=build failed%3A {unit},file=kernels/gemm/gemm/gemm.hip,line=41,col=17::gemm/gemm.hip:41:17: "
    )
    assert "\n" not in command


def test_an_error_in_a_file_that_is_not_there_names_no_file(tmp_path: Path) -> None:
    subject = story.make_subject(matrix=tmp_path / "matrix.yaml")
    (command,) = failure_annotations(subject, {"GITHUB_WORKSPACE": str(tmp_path)})
    assert "file=" not in command


def test_a_refused_matrix_is_marked_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "matrix.yaml").touch()
    monkeypatch.chdir(tmp_path)
    error = InputError("unknown key `rocmm`", where="matrix.yaml:5", fix="Did you mean rocm?")
    command = refusal_annotation(error, {"GITHUB_WORKSPACE": str(tmp_path)})
    assert command.startswith("::error title=rocmatrix,file=matrix.yaml,line=5::")
    assert "Did you mean rocm?" in command
