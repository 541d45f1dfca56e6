"""``rocmatrix shell``: what somebody at a terminal finds in it."""

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from tests.system.docker_bed import base_name

ROOT = Path(__file__).parents[2]
MATRIX = f"""schema: 1
kernels: [{{path: kernels/gemm}}]
torch: ["2.13"]
rocm: ["7.1"]
archs: [gfx942]
toolchains: {{"7.1": {{recipe: debian, args: {{SUITE: forky, BASE: "{base_name("forky")}"}}}}}}
"""
SECONDS = 180.0
TYPED = 'echo "[$(id -u)]"; ls; stty size; ninja -n | tail -n 1; exit 7\n'


class Terminal:
    """A program at a terminal of 30 rows and 100 columns."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._shown = ""
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.system("stty rows 30 cols 100")  # noqa: S605 - the child's own terminal
            environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "TERM": "xterm"}
            os.execve(sys.executable, [sys.executable, "-m", "rocmatrix", *words], environment)  # noqa: S606

    def wait_for(self, text: str) -> str:
        """Return what is shown once it has this text."""
        deadline = time.monotonic() + SECONDS
        while text not in self._shown and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 1.0)[0]:
                self._shown += os.read(self._terminal, 65536).decode(errors="replace")
        assert text in self._shown, self._shown
        return self._shown

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> tuple[str, int]:
        """Return all that was shown, and the exit status."""
        while select.select([self._terminal], [], [], SECONDS)[0]:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:  # the program has closed its terminal
                break
            if not data:
                break
            self._shown += data.decode(errors="replace")
        _, status = os.waitpid(self._process, 0)
        os.close(self._terminal)
        return self._shown, os.waitstatus_to_exitcode(status)


@pytest.mark.needs_docker
@pytest.mark.usefixtures("debian_images")
def test_a_shell_is_where_the_unit_is_built(tmp_path: Path) -> None:
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    terminal = Terminal(tmp_path, "shell", "gemm.*")
    terminal.wait_for("runs its steps\r\n$ ")
    terminal.type(TYPED)
    shown, code = terminal.end()
    assert "\n[1000]\r\n" in shown
    assert "build.ninja\r\n" in shown
    assert "30 100\r\n" in shown
    assert "link _gemm_rocm_" in shown
    assert code == 0, "what was typed last is no failure of rocmatrix"
    assert not (tmp_path / "dist").exists()


def test_a_shell_of_no_unit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    shown, code = Terminal(tmp_path, "shell", "gem").end()
    assert code == 2
    assert "matches no unit" in shown
