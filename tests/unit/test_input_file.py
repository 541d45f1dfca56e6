"""Reading what users wrote: regular files of reasonable size, one message for all else."""

import os
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.input_file import INPUT_LIMIT, read_input


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_bytes(b"#" * INPUT_LIMIT)
    assert len(read_input(path)) == INPUT_LIMIT
    assert len(read_input(path, largest=INPUT_LIMIT + 1)) == INPUT_LIMIT


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_bytes(b"#" * (INPUT_LIMIT + 1))
    with pytest.raises(InputError, match=f"larger than {INPUT_LIMIT} bytes"):
        read_input(path)
    with pytest.raises(InputError, match="larger than 9 bytes"):
        read_input(path, largest=9)


def test_a_missing_file_a_folder_and_a_pipe_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe"):
        with pytest.raises(InputError, match=str(path)):
            read_input(path)
