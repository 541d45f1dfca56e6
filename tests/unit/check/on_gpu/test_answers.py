"""What comes out of a container is hostile: every lie is a case that failed, or refused as a whole."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.check.on_gpu.answers import MOST_REPORT, HostileError, clean, load, read_answers, read_identity
from rocmatrix.check.on_gpu.inside.wire import CallResult

RESULT = {"call": "op", "file": "0-1.bin", "dtype": "float32", "shape": [2, 3]}


def write(folder: Path, *lines: object) -> None:
    (folder / "report.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def put(folder: Path, name: str = "0-1.bin", size: int = 24) -> None:
    (folder / name).write_bytes(bytes(size))


def test_a_result_is_taken_with_its_bytes(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "0-1.bin").write_bytes(values.tobytes())
    write(tmp_path, {"case": 0, "began": True}, {"case": 0, "result": RESULT}, {"case": 0, "seconds": 0.5})
    (answer,) = read_answers(tmp_path, 1).cases
    assert (answer.began, answer.ended, answer.seconds, answer.wrong) == (True, True, 0.5, [])
    assert np.array_equal(load(answer.results[0], tmp_path), values)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"file": "/etc/passwd"}, "another file than its own"),
        ({"file": "../0-1.bin"}, "another file than its own"),
        ({"file": "0-2.bin"}, "another file than its own"),
        ({"dtype": "object"}, "dtype object, which has no counterpart"),
        ({"dtype": "complex32"}, "no counterpart"),
        ({"shape": [2, -3]}, "no shape"),
        ({"shape": [1] * 17}, "no shape"),
        ({"shape": [1 << 40, 1 << 40]}, "does not have as many bytes"),
        ({"shape": [2, 2]}, "does not have as many bytes"),
        ({"dtype": "float64"}, "does not have as many bytes"),
    ],
)
def test_a_result_that_is_not_what_it_says_fails_its_case(tmp_path: Path, change: dict[str, object], said: str) -> None:
    put(tmp_path)
    put(tmp_path, "0-2.bin")
    write(tmp_path, {"case": 0, "began": True}, {"case": 0, "result": RESULT | change}, {"case": 0, "seconds": 1.0})
    (answer,) = read_answers(tmp_path, 1).cases
    assert answer.results == []
    assert said in answer.wrong[0]


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), Path.mkdir, os.mkfifo])
def test_no_link_folder_or_pipe_is_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "0-1.bin")
    write(tmp_path, {"case": 0, "result": RESULT})
    (answer,) = read_answers(tmp_path, 1).cases
    assert "does not have as many bytes" in answer.wrong[0]
    make(tmp_path / "identity.json")
    with pytest.raises(HostileError, match=r"identity.json (is no file|cannot be read)"):
        read_identity(tmp_path)


def test_a_link_to_a_file_of_this_machine_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('{"torch": "2.13.0", "devices": 1}')
    (tmp_path / "identity.json").symlink_to("elsewhere")
    with pytest.raises(HostileError, match=r"identity\.json cannot be read"):
        read_identity(tmp_path)
    (tmp_path / "report.jsonl").symlink_to("elsewhere")
    with pytest.raises(HostileError, match=r"report\.jsonl cannot be read"):
        read_answers(tmp_path, 1)


def test_a_fourth_result_is_refused(tmp_path: Path) -> None:
    for number in range(1, 5):
        put(tmp_path, f"0-{number}.bin")
    write(tmp_path, *({"case": 0, "result": RESULT | {"file": f"0-{number}.bin"}} for number in range(1, 5)))
    (answer,) = read_answers(tmp_path, 1).cases
    assert len(answer.results) == 3
    assert len(answer.wrong) == 1


@pytest.mark.parametrize(
    "line",
    ['{"case": "many"}', "[]", "\x00", '{"case": 0, "result": {"call": 3}}', "[" * 100_000, '{"case": 1e400}', "null"],
)
def test_a_report_of_another_form_is_refused_as_a_whole(tmp_path: Path, line: str) -> None:
    (tmp_path / "report.jsonl").write_text(line + "\n")
    with pytest.raises(HostileError, match="not in its form"):
        read_answers(tmp_path, 1)


def test_a_report_without_end_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "report.jsonl").open("wb") as report:
        report.truncate(MOST_REPORT + 1)
    with pytest.raises(HostileError, match="is no file of at most"):
        read_answers(tmp_path, 1)


def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "report.jsonl").write_text('{"case": 0, "began": true}\n{"case": 0, "wro')
    (answer,) = read_answers(tmp_path, 1).cases
    assert answer.began
    assert not answer.ended


def test_cases_that_do_not_exist_are_nobody_s(tmp_path: Path) -> None:
    write(tmp_path, {"case": 7, "wrong": "x"}, {"case": -3, "wrong": "y"}, {"case": 0, "began": True})
    answers = read_answers(tmp_path, 2)
    assert [(answer.began, answer.wrong) for answer in answers.cases] == [(True, []), (False, [])]


def test_seconds_are_numbers_that_a_record_can_hold(tmp_path: Path) -> None:
    write(tmp_path, {"case": 0, "seconds": -4.0}, {"case": 1, "seconds": 1e300})
    assert [answer.seconds for answer in read_answers(tmp_path, 2).cases] == [0.0, 0.0]


def test_words_are_one_printable_line_of_limited_length() -> None:
    assert clean("::error::\x1b[31m a\n b\u202e\t c") == "::error::?[31m a b? c"
    assert len(clean("x" * 10**6)) == 2000


def test_an_identity_is_cleaned(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text(json.dumps({"torch": "2.13\n\x1b[2J", "arch": "g" * 500, "devices": 1}))
    found = read_identity(tmp_path)
    assert (found.torch, len(found.arch), found.hip) == ("2.13 ?[2J", 100, None)


@pytest.mark.parametrize("shape", [[0, 1 << 62], [1 << 62, 0], [0, 1 << 20, 1 << 20], [1 << 200, 0]])
def test_no_elements_are_no_reason_to_believe_a_shape_that_no_array_has(tmp_path: Path, shape: list[int]) -> None:
    put(tmp_path, size=0)
    write(tmp_path, {"case": 0, "result": RESULT | {"shape": shape}})
    (answer,) = read_answers(tmp_path, 1).cases
    assert answer.results == []
    assert "no axis of a result can be that long" in answer.wrong[0]


def test_a_result_of_no_elements_has_no_bytes(tmp_path: Path) -> None:
    put(tmp_path, size=0)
    write(tmp_path, {"case": 0, "result": RESULT | {"shape": [0, 4]}})
    (answer,) = read_answers(tmp_path, 1).cases
    assert answer.results == [CallResult(call="op", file="0-1.bin", dtype="float32", shape=(0, 4))]
    assert load(answer.results[0], tmp_path).shape == (0, 4)
