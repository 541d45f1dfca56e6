"""What mutants are made of: kernels of code objects, and the launches that are to notice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import msgspec
import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import CodeObject, Segment, read_code_object
from rocmatrix.emulator.hidden_arguments import Geometry
from tests.corpus.specs import SPECS, Manifest
from tests.corpus.trial import Trial, poisoned
from tests.mutation.operators import Listing, Mutant, list_kernel
from tests.system.emulator_compiler import compile_gemm

_ROOT = Path(__file__).parents[2]
_TILE, _THREADS, _BLOCK = 128, 256, 128
_GEMM = "_ZN14rocmatrix_gemm11gemm_kernelILNS_10ContiguousE{a}ELS1_{b}EEEvPKhS3_PKfS5_Ptiii"
GEMM_SHAPES = ((33, 65, 256), (130, 134, 128), (128, 128, 256), (5, 131, 384), (131, 1, 128))
"""M, N, K: less than a tile, several tiles, whole tiles, a column; N leaves each remainder of a lane's four columns."""
_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kernel and its launches.

    Attributes:
        name: for people and for files.
        code: the code object.
        kernel: its name there.
        trials: launches that together reach all of its code, cheap ones first.
    """

    name: str
    code: CodeObject
    kernel: str
    trials: tuple[Trial, ...]

    @property
    def entry(self) -> int:
        """Address of the kernel in the image."""
        return self.code.kernel(self.kernel).entry

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
            name = _GEMM.format(a=a, b=b)
            trials = tuple(
                _product(name, shape, a_by_k=not a, b_by_k=not b, special=number % 2 == 0)
                for number, shape in enumerate(GEMM_SHAPES)
            )
            yield Subject(name=f"gemm-{a}{b}", code=code, kernel=name, trials=trials)


def _product(kernel: str, shape: tuple[int, int, int], *, a_by_k: bool, b_by_k: bool, special: bool) -> Trial:
    """Return a trial; a special one has NaN among its scales, in the form that rounding could carry out of."""
    m, n, k = shape
    random = np.random.default_rng([m, n, k])
    a, b = (random.standard_normal(size).astype(ml_dtypes.float8_e4m3fnuz) for size in ((m, k), (k, n)))
    blocks = k // _BLOCK
    scales = [random.standard_normal(size).astype(np.float32) for size in ((blocks, m), (blocks, -(-n // _BLOCK)))]
    if special:
        scales[0].view(np.uint32)[0, :: max(1, m // 3)] = 0x7FFFFFFF

    def reference() -> Array:
        result = np.zeros((m, n))
        for block, (rows, columns) in enumerate(zip(*scales, strict=True)):
            part = slice(block * _BLOCK, (block + 1) * _BLOCK)
            wide = a[:, part].astype(np.float64) @ b[part].astype(np.float64)
            result += rows[:, None] * np.repeat(columns, _BLOCK)[None, :n] * wide
        return result

    return Trial(
        name="x".join(map(str, shape)),
        kernel=kernel,
        geometry=Geometry(grid=(-(-m // _TILE) * -(-n // _TILE), 1, 1), block=(_THREADS, 1, 1)),
        inputs=(a if a_by_k else a.T.copy(), b.T.copy() if b_by_k else b, *scales),
        out=poisoned((m, n), ml_dtypes.bfloat16),
        scalars=shape,
        reference=reference,
        rtol=5e-3,
        atol=1e-3,
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
            trials = tuple(make(spec, manifest.needs[spec.name]) for make in (spec.trial, *spec.more))
            code = read_code_object((folder / f"{spec.name}.co").read_bytes(), spec.name)
            yield Subject(name=spec.name, code=code, kernel=trials[0].kernel, trials=trials)


TRITON = ("matmul-fp16-64x64x32-w4", "softmax")
SUBJECTS: Mapping[str, Callable[[Path], Iterator[Subject]]] = {
    "gemm": gemm_subjects,
    "triton": lambda folder: triton_subjects(folder, *TRITON),
}
