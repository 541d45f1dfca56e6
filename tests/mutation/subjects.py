"""What mutants are made of: kernels of code objects, and the launches that are to notice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import msgspec

from rocmatrix.emulator.code_object import CodeObject, Segment, read_code_object
from rocmatrix.emulator.device import Device
from tests.corpus.specs import SPECS, Manifest
from tests.corpus.trial import Trial
from tests.mutation.gemm_trials import Layouts, edge_trials, exact_trials, shipped_trials
from tests.mutation.operators import Listing, Mutant, list_kernel
from tests.mutation.triton_trials import edges_for, end_trials_for, trials_for
from tests.system.emulator_compiler import compile_gemm

_ROOT = Path(__file__).parents[2]
_SECONDS = 300
_POINTER, _SIZE = 8, 4
"""Bytes of arguments."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kernel and its launches.

    Attributes:
        name: for people and for files.
        code: the code object.
        kernel: its name there.
        trials: launches that together reach all of its code, cheap ones first.
        shipped: those of them that a check of the kernel runs: its ``tests/cases.py``, or its trials in the corpus.
        approximates: whether it computes with reciprocals and the like, so that both ends of 1 ulp are tried too:
            with those of ``shipped`` and of ``for_ends``.
        for_ends: trials that are made for these ends.
        edges: makes launches that together have every number of rows and of columns that a tile at an edge may have.
    """

    name: str
    code: CodeObject
    kernel: str
    trials: tuple[Trial, ...]
    shipped: tuple[Trial, ...] = ()
    approximates: bool = False
    for_ends: tuple[Trial, ...] = ()
    edges: Callable[[], Iterator[Trial]] = lambda: iter(())

    @property
    def entry(self) -> int:
        """Address of the kernel in the image."""
        return self.code.kernel(self.kernel).entry

    @cached_property
    def loaded_entry(self) -> int:
        """Where the kernel begins in memory: fresh devices load at the same address."""
        return Device().load(self.code).address + self.entry

    @cached_property
    def edge_trials(self) -> tuple[Trial, ...]:
        """The launches of ``edges``, made once for all who ask."""
        return tuple(self.edges())

    @property
    def sizes(self) -> frozenset[int]:
        """Offsets of the arguments that are sizes, in bytes: they follow the pointers."""
        trial = self.trials[0]
        first = _POINTER * (len(trial.inputs) + 1)
        return frozenset(first + _SIZE * number for number in range(len(trial.scalars)))

    @property
    def segment(self) -> Segment:
        """The segment that the kernel lies in."""
        return next(each for each in self.code.segments if each.address <= self.entry < each.address + each.size)

    @property
    def place(self) -> int:
        """Where the kernel begins in its segment."""
        return self.entry - self.segment.address

    def listing(self) -> Listing:
        """Return its instructions."""
        return list_kernel(self.segment.data[self.place :])

    def with_change(self, mutant: Mutant) -> tuple[CodeObject, bytes]:
        """Return the code object with a mutant in it, and the changed segment's bytes as they are in memory."""
        segment, first = self.segment, self.place + mutant.offset
        assert segment.data[first : first + len(mutant.before)] == mutant.before
        data = segment.data[:first] + mutant.after + segment.data[first + len(mutant.after) :]
        changed = tuple(replace(each, data=data) if each is segment else each for each in self.code.segments)
        return replace(self.code, segments=changed), data

    @property
    def image(self) -> bytes:
        """The segment's bytes."""
        return self.segment.data


def gemm_subjects(folder: Path) -> Iterator[Subject]:
    """Return this repository's GEMM in its four layouts."""
    path = folder / "gemm.co"
    if not path.exists():
        compile_gemm(folder)
    code = read_code_object(path.read_bytes(), path.name)
    for a in (0, 1):
        for b in (0, 1):
            layouts = Layouts(a=a, b=b)
            shipped, exact = tuple(shipped_trials(layouts)), tuple(exact_trials(layouts))
            trials = (*shipped, *exact)
            yield Subject(
                name=f"gemm-{a}{b}",
                code=code,
                kernel=layouts.kernel,
                trials=trials,
                shipped=shipped,
                edges=partial(edge_trials, layouts),
            )


def triton_subjects(folder: Path, *names: str) -> Iterator[Subject]:
    """Return kernels of the corpus."""
    wanted = [name for name in names if not (folder / f"{name}.co").exists()]
    if wanted or not (folder / "manifest.json").exists():
        command = [sys.executable, "-m", "tests.corpus.compiling", str(folder), *names]
        subprocess.run(command, cwd=_ROOT, check=True, timeout=_SECONDS)
    manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    for spec in SPECS:
        if spec.name in names:
            needs = manifest.needs[spec.name]
            own = tuple(make(spec, needs) for make in (spec.trial, *spec.more))
            code = read_code_object((folder / f"{spec.name}.co").read_bytes(), spec.name)
            for_ends = tuple(end_trials_for(spec, needs))
            trials = (*own, *trials_for(spec, needs), *for_ends)
            yield Subject(
                name=spec.name,
                code=code,
                kernel=needs.kernel,
                trials=trials,
                shipped=own,
                approximates=spec.kernel in _APPROXIMATE,
                for_ends=for_ends,
                edges=partial(edges_for, spec, needs),
            )


_APPROXIMATE = ("softmax", "layer_norm", "attention")
TRITON = ("matmul-fp16-64x64x32-w4", "softmax")
SUBJECTS: Mapping[str, Callable[[Path], Iterator[Subject]]] = {
    "gemm": gemm_subjects,
    "triton": lambda folder: triton_subjects(folder, *TRITON),
}
