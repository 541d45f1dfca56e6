"""One unit's cases on a GPU: inputs made, run in the container, compared; nothing of it knows which GPU it is."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import msgspec

import rocmatrix
from rocmatrix.check.confined import read_lines
from rocmatrix.check.on_gpu import inside
from rocmatrix.check.on_gpu.answers import MOST_BYTES, Answers, HostileError, clean, read_answers, read_identity
from rocmatrix.check.on_gpu.inside.wire import BEGAN, ENDED, Found
from rocmatrix.check.on_gpu.jobs import ComparedCase, CompareJob, PrepareJob
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.engine.paths import Place
from rocmatrix.errors import BuildError, CheckError, MissingRequirementError
from rocmatrix.records import CaseResult

START_SECONDS = 300.0
"""Seconds that loading torch and the kernel may take; a torch for ROCm takes several, the first time from a disk."""
MOST_SECONDS = 1800.0
"""Seconds of all cases together, besides ``START_SECONDS``, after which the container is killed."""
CASES_SECONDS = 900.0
"""Seconds for making all inputs, and for computing all references."""

_GPU = "cuda"
"""How a torch for ROCm calls its GPUs."""
_START = "import sys; sys.path.insert(0, sys.argv[1]); "
_SHOWN_LINES = 5


@dataclass(frozen=True, kw_only=True)
class Session:
    """Where the processes of one unit run, and on what.

    Attributes:
        host: engine of this machine, for the author's cases.
        container: engine that has the GPU.
        room: of the container.
        python: the Python with torch there.
        device: kind of torch's device.
        folder: an empty one to work in.
    """

    host: Engine
    container: Engine
    room: str
    folder: Path
    python: str = "python3"
    device: str = _GPU

    def identity(self) -> Found:
        """Return which torch and GPU there are.

        Raises:
            MissingRequirementError: the image's Python or torch does not answer.
        """
        results = self._folder("identity")
        place = Place(host=results, name="identity", writable=True, fetched=True)
        done = self._inside("identity", (self.device, str(results)), (place,), START_SECONDS, None)
        try:
            return read_identity(results) if done.returncode == 0 else self._no_answer(done)
        except HostileError as err:
            raise MissingRequirementError(f"the image's torch does not say what it is: {err}", where=self.room) from err

    def prepare(self, tests: Path, limits: Mapping[str, float], seed: int) -> Path:
        """Make the inputs of cases (name -> seconds that it may take) and return their folder.

        Raises:
            CheckError: they cannot be made.
        """
        folder = self._folder("inputs")
        job = PrepareJob(
            tests=str(tests),
            folder=str(folder),
            device=self.device,
            cases=limits,
            seed=seed,
            start_seconds=START_SECONDS,
            most_bytes=MOST_BYTES,
        )
        done = self._outside("prepare", job)
        if done.returncode != 0:
            raise CheckError("the inputs of the cases cannot be made", where=str(tests), fix=last_lines(done))
        return folder

    def run(
        self, payload: Path, inputs: Path, cases: Sequence[str], seconds: float, progress: Callable[[str], None]
    ) -> Ran:
        """Run the cases in the container.

        Args:
            payload: the built kernel.
            inputs: folder that ``prepare`` made.
            cases: their names.
            seconds: after which the container is killed.
            progress: takes the name of each case that ended.

        Raises:
            MissingRequirementError: the engine fails.
        """
        results = self._folder("results")
        news = _News(cases, progress)
        places = (
            Place(host=payload, name="payload"),
            Place(host=inputs, name="inputs"),
            Place(host=results, name="results", writable=True, fetched=True),
        )
        try:
            done = self._inside("cases", (str(payload), str(inputs), str(results)), places, seconds, news.take)
        except BuildError as err:  # an engine brings back no links, devices or endless files
            gone = Completed(returncode=0, output="", seconds=0.0)
            return Ran(results=results, answers=None, done=gone, last=news.last, hostile=_left(err))
        if done.returncode == 0:
            try:
                return Ran(results=results, answers=read_answers(results, len(cases)), done=done, last=news.last)
            except HostileError as err:
                return Ran(results=results, answers=None, done=done, last=news.last, hostile=str(err))
        return Ran(results=results, answers=None, done=done, last=news.last)

    def compare(self, tests: Path, results: Path, cases: tuple[ComparedCase, ...], seed: int) -> tuple[CaseResult, ...]:
        """Compare results with the references and return what each case came to.

        Raises:
            CheckError: a reference cannot be computed.
        """
        report = self.folder / "compared.jsonl"
        job = CompareJob(tests=str(tests), results=str(results), report=str(report), cases=cases, seed=seed)
        done = self._outside("compare_all", job)
        found = tuple(line.result for line in read_lines(report) if line.result)
        if len(found) != len(cases):
            name = cases[len(found)].name
            raise CheckError(
                f"case {name} cannot be compared with its reference", where=str(tests), fix=last_lines(done)
            )
        return found

    def _outside(self, verb: str, job: PrepareJob | CompareJob) -> Completed:
        file = self.folder / f"{verb}.job"
        file.write_bytes(msgspec.json.encode(job))
        start = f"{_START}from rocmatrix.check.on_gpu.cases_process import {verb}; {verb}(sys.argv[2])"
        argv = (sys.executable, "-I", "-B", "-c", start, str(_folder_of(rocmatrix).parent), str(file))
        return self.host.run(Command(argv=argv, cwd=self.folder, timeout=CASES_SECONDS, writable=(self.folder,)))

    def _inside(
        self,
        verb: str,
        arguments: tuple[str, ...],
        places: tuple[Place, ...],
        seconds: float,
        on_line: Callable[[str], None] | None,
    ) -> Completed:
        code = self.folder / "code"
        package = code / inside.__name__.rpartition(".")[2]
        if not package.exists():
            shutil.copytree(_folder_of(inside), package, ignore=shutil.ignore_patterns("__pycache__"))
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        start = f"{_START}from {package.name}.supervisor import main; main(*sys.argv[2:])"
        return self.container.run(
            Command(
                argv=(self.python, "-I", "-B", "-c", start, str(code), verb, *arguments),
                cwd=self.folder,
                timeout=seconds,
                environment={"HOME": str(scratch), "TMPDIR": str(scratch)},  # a container's /tmp loads no library
                writable=(scratch, *(place.host for place in places if place.writable)),
                places=(Place(host=code, name="code"), Place(host=scratch, name="scratch", writable=True), *places),
                room=self.room,
                on_line=on_line,
            )
        )

    def _folder(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir()
        return made

    def _no_answer(self, done: Completed) -> Found:
        """Refuse an image whose torch does not answer."""
        if done.returncode is None:
            raise MissingRequirementError(
                f"torch ran no first small kernel within {START_SECONDS:.0f} s, and the container was killed",
                where=self.room,
                fix="See `dmesg | grep amdgpu`: the GPU may hang. In an image without libnuma.so, torch 2.13 waits for"
                " ever, too (pytorch/pytorch#189110).",
            )
        raise MissingRequirementError(
            f"the image's {self.python} cannot load torch (exit status {done.returncode})",
            where=self.room,
            fix=f"{last_lines(done)} An image is needed whose `python3 -c 'import torch'` works.",
        )


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What running cases in the container came to.

    Attributes:
        results: folder with the files.
        answers: what came of the cases; ``None`` if nothing came out, or nothing that can be read.
        done: how the command ended.
        last: number of the case that had begun last, as far as was seen; -1 for none.
        hostile: why what came out cannot be read.
    """

    results: Path
    answers: Answers | None
    done: Completed
    last: int
    hostile: str | None = None


class _News:
    """Reads what the supervisor prints about cases; the kernel's own output never gets there."""

    def __init__(self, cases: Sequence[str], progress: Callable[[str], None]) -> None:
        self._cases = cases
        self._progress = progress
        self.last = -1

    def take(self, line: str) -> None:
        for word in (BEGAN, ENDED):
            digits = line.removeprefix(f"{word} ") if line.startswith(f"{word} ") else ""
            number = int(digits) if digits.isdecimal() and len(digits) < 10 else -1  # noqa: PLR2004
            if 0 <= number < len(self._cases):
                if word == BEGAN:
                    self.last = number
                else:
                    self._progress(self._cases[number])


def _left(err: BuildError) -> str:
    """Say what an engine does not bring back, of a kernel that ran instead of a build."""
    return err.what.replace("the build left", "the kernel left", 1)


def last_lines(done: Completed) -> str:
    """Return the last of what a command printed, for people."""
    said = [clean(line) for line in done.output.strip().splitlines()][-_SHOWN_LINES:]
    return "Its last lines: " + " | ".join(said) if said else "It printed nothing."


def _folder_of(package: ModuleType) -> Path:
    assert package.__file__ is not None  # noqa: S101 - it is a package of ours
    return Path(package.__file__).parent
