"""``rocmatrix`` run many times, each in a process of its own, on projects made for it.

The processes are forked from one that has imported the command line already (this module, run as a program), so that a
hundred of them cost a second or two and not a minute; how much each took of time and memory is the kernel's count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

MATRIX = """\
schema: 1
kernels: [gemm]
torch: ["2.12", "2.13"]
rocm: ["7.1", "7.2"]
archs: [gfx942]
toolchains: {"7.1": llvm, "7.2": llvm}
"""

MANIFEST = """\
[general]
name = "gemm"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]
[general.hub]
repo-id = "someone/gemm"
[torch]
src = ["torch-ext/binding.cpp"]
minver = "2.10"
[kernel.gemm]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942"]
src = ["gemm.hip"]
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended: exit code, both streams, processor seconds of its own, and its peak memory in MB."""

    code: int
    out: str
    err: str
    seconds: float
    megabytes: float


def make_project(folder: Path, *, matrix: bytes = MATRIX.encode(), manifest: bytes = MANIFEST.encode()) -> None:
    """Make a project that can be planned, or one whose files are as given."""
    (folder / "gemm" / "torch-ext").mkdir(parents=True)
    (folder / "gemm" / "torch-ext" / "binding.cpp").write_text("")
    (folder / "gemm" / "gemm.hip").write_text("")
    (folder / "gemm" / "link.hip").symlink_to("gemm.hip")
    for path, content in ((folder / "matrix.yaml", matrix), (folder / "gemm" / "build.toml", manifest)):
        if content == b"<pipe>":
            os.mkfifo(path)
        elif content == b"<folder>":
            path.mkdir()
        else:
            path.write_bytes(content)


def meet(folders: Sequence[Path], words: Sequence[str], environment: Mapping[str, str]) -> list[Ended]:
    """Run ``rocmatrix`` in each folder, each in a process of its own."""
    asked = json.dumps({"folders": [str(folder) for folder in folders], "words": list(words)})
    done = subprocess.run(
        [sys.executable, "-m", "tests.system.plan_processes"],
        input=asked,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
        env={**environment, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )
    return [Ended(**one) for one in json.loads(done.stdout)]


def _fork(folder: Path, words: Sequence[str]) -> Ended:
    streams = [folder / name for name in (".out", ".err")]
    started = time.monotonic()
    if not (child := os.fork()):
        os.chdir(folder)
        for number, stream in enumerate(streams, start=1):
            os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT), number)
        from rocmatrix.cli.main import main  # noqa: PLC0415 - imported by the parent already

        os._exit(main(list(words)))
    _, status, used = os.wait4(child, 0)
    assert time.monotonic() - started < 60  # a run that hangs is told here, not by CI's limit
    out, err = (stream.read_text() for stream in streams)
    return Ended(
        code=os.waitstatus_to_exitcode(status),
        out=out,
        err=err,
        seconds=used.ru_utime + used.ru_stime,
        megabytes=used.ru_maxrss / 1024,
    )


if __name__ == "__main__":
    import rocmatrix.cli.following
    import rocmatrix.cli.main
    import rocmatrix.pipeline
    import rocmatrix.report.annotations
    import rocmatrix.report.documents
    import rocmatrix.report.plan_view
    import rocmatrix.report.workflow_commands  # noqa: F401 - all of these so that no child has to

    request = json.load(sys.stdin)
    json.dump([asdict(_fork(Path(one), request["words"])) for one in request["folders"]], sys.stdout)
