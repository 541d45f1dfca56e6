import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.errors import MissingRequirementError


def python(code: str, folder: Path, *, timeout: float = 30.0, **environment: str) -> Completed:
    return HostEngine().run(
        Command(argv=(sys.executable, "-c", code), cwd=folder, timeout=timeout, environment=environment)
    )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def test_output_of_both_streams_comes_in_order(tmp_path: Path) -> None:
    done = python(
        "import sys\nfor i in range(3): print('out', i, flush=True); print('err', i, file=sys.stderr)", tmp_path
    )
    assert done.returncode == 0
    assert done.output == "".join(f"out {i}\nerr {i}\n" for i in range(3))
    assert 0.0 < done.seconds < 30.0


def test_the_exit_status_is_returned_and_a_failure_is_no_exception(tmp_path: Path) -> None:
    assert python("raise SystemExit(7)", tmp_path).returncode == 7


def test_the_signal_that_ended_a_command_is_negative(tmp_path: Path) -> None:
    assert python("import os; os.kill(os.getpid(), 15)", tmp_path).returncode == -15


def test_no_variable_of_the_user_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HTTPS_PROXY", "PYTHONPATH", "LD_PRELOAD_X", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "secret")
    seen = python("import os; print(sorted(os.environ))", tmp_path).output
    for name in ("HF_TOKEN", "HTTPS_PROXY", "PYTHONPATH", "LD_PRELOAD_X", "GITHUB_TOKEN"):
        assert name not in seen


def test_home_is_empty_writable_and_gone_afterwards(tmp_path: Path) -> None:
    code = "import os, tempfile; h = os.environ['HOME']; print(os.listdir(h), tempfile.mkdtemp()); print(h)"
    listing, home = python(code, tmp_path).output.splitlines()
    assert listing.startswith(f"[] {home}")
    assert home != os.environ.get("HOME")
    assert not Path(home).exists()


def test_locale_time_zone_and_epoch_are_fixed(tmp_path: Path) -> None:
    code = "import os; print(*(os.environ[k] for k in ('LC_ALL', 'TZ', 'SOURCE_DATE_EPOCH')))"
    assert python(code, tmp_path).output == "C.UTF-8 UTC 315532800\n"


def test_variables_of_the_command_are_added(tmp_path: Path) -> None:
    assert (
        python("import os; print(os.environ['ZIG_LOCAL_CACHE_DIR'])", tmp_path, ZIG_LOCAL_CACHE_DIR="x").output == "x\n"
    )


def test_the_interpreter_and_the_shell_are_on_the_path(tmp_path: Path) -> None:
    done = HostEngine().run(
        Command(argv=("sh", "-c", Path(sys.executable).name + " -c 'print(1)'"), cwd=tmp_path, timeout=30)
    )
    assert done.output == "1\n"


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    assert python(r"import sys; sys.stdout.buffer.write(b'a\xff\xc3')", tmp_path).output == "a\ufffd\ufffd"


def test_characters_split_between_two_writes_stay_whole(tmp_path: Path) -> None:
    code = "import os, time; os.write(1, b'\\xc3'); time.sleep(0.2); os.write(1, b'\\xa4\\n')"
    assert python(code, tmp_path).output == "ä\n"


def test_lines_are_handed_on_while_the_command_runs(tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    code = "import time; print('first', flush=True); time.sleep(1); print('second'); print('end', end='')"
    HostEngine().run(
        Command(
            argv=(sys.executable, "-c", code),
            cwd=tmp_path,
            timeout=30,
            on_line=lambda line: seen.append((line, time.monotonic())),
        )
    )
    assert [line for line, _ in seen] == ["first", "second", "end"]
    assert seen[1][1] - seen[0][1] > 0.5


def test_more_output_than_a_pipe_holds_does_not_block(tmp_path: Path) -> None:
    assert len(python("print('x' * 5_000_000)", tmp_path).output) == 5_000_001


def test_a_command_past_its_time_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    done = python(code, tmp_path, timeout=1.5)
    assert done.returncode is None
    assert done.seconds < 10.0
    assert gone_within(int(done.output), 5.0)


@pytest.mark.parametrize("timeout", [1.0, 30.0])
def test_a_child_in_a_process_group_of_its_own_is_killed_too(tmp_path: Path, timeout: float) -> None:
    code = (
        "import subprocess, sys, time\n"
        "code = 'import time; time.sleep(60)'\n"
        "p = subprocess.Popen([sys.executable, '-c', code], process_group=0)\n"
        f"print(p.pid, flush=True); time.sleep(60 if {timeout} < 5 else 0)"
    )
    done = python(code, tmp_path, timeout=timeout)
    assert done.returncode == (None if timeout < 5 else 0)
    assert gone_within(int(done.output), 5.0)


def test_a_child_left_behind_is_killed_and_does_not_hold_the_command(tmp_path: Path) -> None:
    code = "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    done = python(code, tmp_path)
    assert done.returncode == 0
    assert done.seconds < 10.0
    assert gone_within(int(done.output), 5.0)


def test_a_command_that_closed_its_output_is_still_waited_for(tmp_path: Path) -> None:
    done = python("import os, time; os.close(1); os.close(2); time.sleep(0.5); os._exit(3)", tmp_path)
    assert done.returncode == 3
    assert done.seconds > 0.5


def test_interrupt_ends_what_runs_and_what_comes_after(tmp_path: Path) -> None:
    engine = HostEngine()
    command = Command(argv=(sys.executable, "-c", "import time; time.sleep(60)"), cwd=tmp_path, timeout=60)
    done: list[Completed] = []
    thread = threading.Thread(target=lambda: done.append(engine.run(command)))
    thread.start()
    time.sleep(0.5)
    engine.interrupt()
    thread.join(timeout=10)
    assert [completed.returncode for completed in done] == [-9]
    assert engine.run(command).returncode == -9


def test_a_missing_program_is_a_missing_requirement(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="no-such-compiler cannot be started"):
        HostEngine().run(Command(argv=("no-such-compiler",), cwd=tmp_path, timeout=5))


HOST = """
import sys
from pathlib import Path
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command

engine = HostEngine()
engine.run(Command(argv=("true",), cwd=Path.cwd(), timeout=30.0))
code = "import os, subprocess, sys; own = subprocess.Popen(['sleep', '60'], process_group=0);"
code += "print(os.getpid(), own.pid, os.environ['HOME'], flush=True); own.wait()"
say = lambda line: print(line, flush=True)
engine.run(Command(argv=(sys.executable, "-c", code), cwd=Path.cwd(), timeout=60.0, on_line=say))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_is_killed_leaves_nothing_running_and_no_home(tmp_path: Path, number: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    host = subprocess.Popen([sys.executable, "-c", HOST], cwd=tmp_path, env=environment, stdout=PIPE, text=True)
    assert host.stdout is not None
    leader, child, home = host.stdout.readline().split()
    assert Path(home).is_dir()
    host.send_signal(number)
    host.wait(30)
    host.stdout.close()
    assert gone_within(int(leader), 10.0)
    assert gone_within(int(child), 10.0)
    deadline = time.monotonic() + 10.0
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_is_done_leaves_no_process(tmp_path: Path) -> None:
    before = children()
    engine = HostEngine()
    engine.run(Command(argv=("true",), cwd=tmp_path, timeout=30.0))
    del engine
    assert children() == before


def children() -> set[str]:
    """Return the processes whose parent this one is, zombies among them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(stat.parent.name)
    return found
