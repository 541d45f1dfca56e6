"""Whatever happens becomes one message, the right exit code and, if asked for, one JSON document."""

import argparse
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rocmatrix.cli import main as main_module
from rocmatrix.cli.main import VERBS, main, make_parser
from rocmatrix.cli.options import UsageError, Verb
from rocmatrix.errors import (
    AuditError,
    BenchError,
    BuildError,
    CheckError,
    ExitCode,
    InputError,
    MissingRequirementError,
    ReleaseError,
    RocmatrixError,
)

Main = Callable[[Sequence[str]], int]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROCMATRIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], ExitCode]], None]:
    """Give the command line one more verb, ``try``, that does what the test says."""

    def add(action: Callable[[], ExitCode]) -> None:
        def execute(_arguments: argparse.Namespace) -> ExitCode:
            return action()

        extra = Verb(name="try", summary="try", declare=lambda _parser: None, execute=execute)
        monkeypatch.setattr(main_module, "VERBS", (*VERBS, extra))

    return add


Give = Callable[[Callable[[], ExitCode]], None]


def raising(error: BaseException) -> Callable[[], ExitCode]:
    def action() -> ExitCode:
        raise error

    return action


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, 2),
        (MissingRequirementError, 3),
        (BuildError, 4),
        (AuditError, 5),
        (CheckError, 6),
        (ReleaseError, 7),
        (BenchError, 8),
    ],
)
def test_an_error_is_its_message_and_its_exit_code(
    kind: type[RocmatrixError], code: int, verb: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    verb(raising(kind("it does not fit", where="matrix.yaml:3", fix="Make it fit.")))
    assert main(["try"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: matrix.yaml:3: it does not fit\n  Make it fit.\n"


def test_an_error_is_one_document_with_json(verb: Give, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(InputError("no", where="matrix.yaml:3", fix="Yes.")))
    assert main(["try", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": {"what": "no", "where": "matrix.yaml:3", "fix": "Yes.", "exit_code": 2}}
    assert "matrix.yaml:3: no" in err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["biuld"],
        ["plan", "--oout", "x"],
        ["run", "--jobs", "0"],
        ["run", "--jobs", "two"],
        ["run", "-v", "-q"],
        ["run", "--engine", "podman"],
        ["plan", "--format", "yaml"],
        ["plan", "surplus"],
    ],
)
def test_a_wrong_command_line_is_one_message_and_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["exit_code"] == 2
    assert err.count("error: ") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["--out", "there"], ["--out=there"]])
def test_a_bug_is_told_as_one_and_its_traceback_is_kept_in_the_output_folder(
    words: list[str], verb: Give, capsys: pytest.CaptureFixture[str], own_folder: Path
) -> None:
    (own_folder / "there").mkdir()
    verb(raising(ZeroDivisionError("of our own making")))
    assert main(["try", *words]) == 1
    err = capsys.readouterr().err
    (kept,) = (own_folder / "there").glob("traceback-*.txt")
    assert "Traceback" in kept.read_text()
    assert "Traceback" not in err
    assert err.count("\n") == 2
    assert "a bug in rocmatrix: ZeroDivisionError: of our own making" in err
    assert str(kept.relative_to(own_folder)) in err


@pytest.mark.parametrize("words", [["--out", "absent"], ["--out=absent"], []])
def test_without_an_output_folder_the_traceback_goes_to_the_cache(
    words: list[str], verb: Give, capsys: pytest.CaptureFixture[str], own_folder: Path
) -> None:
    verb(raising(ZeroDivisionError()))
    assert main(["try", *words]) == 1
    (kept,) = (own_folder / "cache").glob("traceback-*.txt")
    assert str(kept) in capsys.readouterr().err
    assert not (own_folder / "absent").exists()


def test_verbose_prints_the_traceback_too(verb: Give, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(ZeroDivisionError()))
    assert main(["try", "-v"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_bug_with_json_is_one_document(verb: Give, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(ZeroDivisionError()))
    assert main(["try", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_orderly_with_130(
    number: signal.Signals, verb: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []

    def work() -> ExitCode:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            cleaned.append(True)
        return ExitCode.DONE

    verb(work)
    before = signal.getsignal(number)
    assert main(["try"]) == 130
    assert cleaned == [True]
    assert capsys.readouterr().err == "error: interrupted; run the same command again to continue\n"
    assert signal.getsignal(number) == before


def test_foreign_text_in_an_error_cannot_act_on_the_terminal(verb: Give, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(InputError("\x1b[2J", where="\x1b]0;x\x07", fix="\x08")))
    main(["try"])
    assert not set(capsys.readouterr().err) & set("\x1b\x07\x08")


def test_in_github_actions_a_refusal_is_an_annotation_and_gives_no_command(
    verb: Give, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own_folder: Path
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(own_folder))
    (own_folder / "matrix.yaml").touch()
    verb(raising(InputError("bad\n::set-env name=A::b", where="matrix.yaml:3")))
    main(["try"])
    lines = capsys.readouterr().err.splitlines()
    commands = [line for line in lines if line.startswith("::error ")]
    assert len(commands) == 1
    assert commands[0].startswith("::error title=rocmatrix,file=matrix.yaml,line=3::")
    assert lines[0].startswith("::stop-commands::")


def test_options_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--ou", "x"]) == 2
    assert "unrecognized arguments: --ou" in capsys.readouterr().err


def test_every_verb_has_the_common_options_and_a_help(capsys: pytest.CaptureFixture[str]) -> None:
    for known in VERBS:
        assert main([known.name, "--help"]) == 0
        shown = capsys.readouterr().out
        for option in ("--matrix", "--out", "--only", "--json", "--verbose", "--quiet"):
            assert option in shown, known.name


def test_a_reader_that_left_is_no_error(
    verb: Give, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    def write() -> ExitCode:
        sys.stdout.write("x" * 100_000)
        sys.stdout.flush()
        return ExitCode.DONE

    verb(write)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["try"]) == 130
    assert "Traceback" not in capfd.readouterr().err


SHELL = '"$PYTHON" -m rocmatrix'


def in_shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in which ``rocmatrix`` is the command; the streams that it leaves alone are captured."""
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = script.replace("rocmatrix", SHELL, 1)
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("doctor --out x --json", {0, 3}), ("plan --matrix none --json", {2})])
def test_streams_that_were_closed_change_no_exit_code(
    own_folder: Path, words: str, code: set[int], closed: str
) -> None:
    done = in_shell(f"rocmatrix {words} {closed}", own_folder)
    assert done.returncode in code
    assert "Traceback" not in done.stderr
    if closed == "2>&-":
        json.loads(done.stdout)


@pytest.mark.parametrize(("words", "code"), [("doctor --json", 3), ("doctor", 3), ("plan --matrix none --json", 2)])
def test_a_full_disk_behind_stdout_is_said_and_is_no_bug(own_folder: Path, words: str, code: int) -> None:
    done = in_shell(f"rocmatrix {words} > /dev/full", own_folder)
    assert done.returncode == code
    assert done.stderr.splitlines()[-2].startswith("error: ")
    assert "Traceback" not in done.stderr
    assert "a bug" not in done.stderr


def test_a_full_disk_behind_stderr_keeps_the_exit_code_and_the_document(own_folder: Path) -> None:
    done = in_shell("rocmatrix plan --matrix none --json 2> /dev/full", own_folder)
    assert (done.returncode, json.loads(done.stdout)["error"]["exit_code"]) == (2, 2)


def test_a_current_folder_that_is_gone_is_said(own_folder: Path) -> None:
    done = in_shell("mkdir gone && cd gone && rmdir ../gone && rocmatrix audit", own_folder)
    assert (done.returncode, done.stderr.partition("\n")[0]) == (2, "error: the current folder is not there any more")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EDQUOT, errno.EIO])
def test_what_the_machine_refuses_is_no_bug(verb: Give, capsys: pytest.CaptureFixture[str], number: int) -> None:
    verb(raising(OSError(number, os.strerror(number), "plan.json")))
    assert main(["try"]) == ExitCode.ENVIRONMENT
    assert capsys.readouterr().err.startswith(
        f"error: plan.json: this machine refused to write or read: {os.strerror(number)}"
    )


def test_another_error_of_the_system_is_a_bug(verb: Give) -> None:
    verb(raising(OSError(errno.ENOTEMPTY, "x", "y")))
    assert main(["try"]) == ExitCode.BUG


@pytest.mark.parametrize("words", [["plan", "--out", ""], ["plan", "--matrix", ""], ["audit", ""], ["run", "--out="]])
def test_an_empty_path_is_none(words: list[str], capsys: pytest.CaptureFixture[str], own_folder: Path) -> None:
    assert main(words) == ExitCode.INPUT
    assert "a path is needed, and it is empty" in capsys.readouterr().err
    assert list(own_folder.iterdir()) == []


def test_no_words_at_all_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.INPUT
    assert "VERB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "name", "found"),
    [
        (["images", "pin", "--upgrade", "almalinux", "debian"], "recipe", ["almalinux", "debian"]),
        (["images", "pin", "almalinux", "--upgrade", "debian"], "recipe", ["almalinux", "debian"]),
        (["images", "list", "--json"], "recipe", []),
        (["digest", "a", "--check", "stated.json", "b"], "paths", [Path("a"), Path("b")]),
    ],
)
def test_words_on_both_sides_of_an_option_are_taken(words: list[str], name: str, found: list[object]) -> None:
    assert getattr(make_parser().parse_args(words), name) == found


@pytest.mark.parametrize("words", [["gate", "--mode", "plan", "--results", "-", "more"], ["images", "pin", "-x", "a"]])
def test_a_word_that_nothing_takes_is_refused_by_name(words: list[str]) -> None:
    with pytest.raises(UsageError, match=f"unrecognized arguments: .*{words[-1]}"):
        make_parser().parse_args(words)
