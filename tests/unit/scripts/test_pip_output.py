"""What is understood of pip's lines. The lines are pip 26.3's own, shortened."""

import io
from pathlib import Path

from private_environment.display import Display
from private_environment.pip_client import Outcome, failure
from private_environment.pip_output import PipOutput


class Terminal(io.StringIO):
    """A stream whose lines can move."""

    def isatty(self) -> bool:
        return True


def read(lines: str, stream: io.StringIO, folder: Path = Path("/")) -> tuple[PipOutput, Display]:
    display = Display(stream)
    output = PipOutput(display, folder)
    for line in lines.splitlines():
        output.feed(line)
    output.finish()
    return output, display


def test_a_download_is_one_line_with_its_exact_size() -> None:
    stream = io.StringIO()
    _, display = read(
        """\
Collecting ziglang==0.17.1 (from -r run.txt (line 610))
  Downloading ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.whl.metadata (2.5 kB)
  Downloading ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.whl (101.1 MB)
Progress 0 of 101142528
Progress 262144 of 101142528
Progress 101142528 of 101142528
Installing collected packages: ziglang
""",
        stream,
    )
    assert stream.getvalue() == "  ziglang 0.17.1                         101.1 MB\n  installing ziglang\n"
    assert display.total().startswith("1 packages: 101.1 MB downloaded, 0 bytes from this machine")


def test_on_a_terminal_the_line_moves_while_bytes_arrive() -> None:
    stream = Terminal()
    read("  Downloading a-1-py3-none-any.whl (2.0 MB)\nProgress 500000 of 2000000\n", stream)
    assert "\r\033[K  a 1  500.0 kB of 2.0 MB" in stream.getvalue()


def test_files_of_this_machine_are_no_download(tmp_path: Path) -> None:
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "numpy-2.4.6-cp311-cp311-linux_x86_64.whl").write_bytes(b"x" * 1500)
    stream = io.StringIO()
    read(
        f"""\
Processing {tmp_path}/a folder/numpy-2.4.6-cp311-cp311-linux_x86_64.whl (from -r run.txt (line 351))
  Using cached rich-15.0.0-py3-none-any.whl (310 kB)
""",
        stream,
    )
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["numpy", "2.4.6", "1.5", "kB", "(no", "download)"],
        ["rich", "15.0.0", "310.0", "kB", "(no", "download)"],
    ]


def test_a_broken_connection_is_said_once_and_kept() -> None:
    retry = (
        "WARNING: Retrying (Retry(total=%d, connect=None)) after connection broken by "
        "'NewConnectionError(\"[Errno 111] Connection refused\")': /simple/pip/\n"
    )
    stream = io.StringIO()
    output, _ = read(
        retry % 4
        + retry % 3
        + "ERROR: Could not find a version that satisfies the requirement pip==26.3 (from versions: none)\n"
        "ERROR: No matching distribution found for pip==26.3\n",
        stream,
    )
    assert stream.getvalue().count("pip tries again") == 1
    assert output.missing == "pip==26.3"
    assert output.last_error == "No matching distribution found for pip==26.3"
    assert "Connection refused" in output.connection


def test_a_wrong_hash_names_the_package() -> None:
    output, _ = read(
        """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, ...
    pip==26.3 from https://index.example/files/pip-26.3-py3-none-any.whl (from -r bad.txt (line 1)):
        Expected sha256 1111
             Got        f3b6
""",
        io.StringIO(),
    )
    message = str(failure(Outcome(status=1, output=output), Path("/env"), who="pip"))
    assert "pip==26.3 is missing; pip said: THESE PACKAGES DO NOT MATCH THE HASHES" in message
    assert "requirements/refresh.sh" in message


def test_a_full_disk_says_how_much_room_is_needed(tmp_path: Path) -> None:
    line = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    output, _ = read(f"Collecting ziglang==0.17.1\n{line}\n", io.StringIO())
    message = str(failure(Outcome(status=1, output=output), tmp_path / "not there yet", who="pip"))
    assert "ziglang==0.17.1 is missing; pip said: Could not install packages" in message
    assert "Make room there: an environment takes" in message


def test_a_pip_that_said_nothing_is_told_by_its_status() -> None:
    output, _ = read("", io.StringIO())
    assert "it ended with status -9" in str(failure(Outcome(status=-9, output=output), Path("/env"), who="pip"))
