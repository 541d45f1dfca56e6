"""What came out of the container, read as hostile: of a known form, of limited size, and nothing believed about files.

A kernel runs in the process that writes these files and can write anything into them. So a name is compared with the
one name that a result may have, sizes come from the file system, and whatever is not in its form is a case that
failed, with that said.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from rocmatrix.cases import Array
from rocmatrix.check.on_gpu.inside.wire import ENDS, IDENTITY, REPORT, CallResult, End, Found, Line
from rocmatrix.emulator.host.dtypes import numpy_types

MOST_REPORT = 16 << 20
"""Bytes of a report: a few lines of at most some thousand characters for each case."""
MOST_BYTES = 1 << 30
"""Bytes of one result."""
_MOST_IDENTITY = 64 << 10
_MOST_AXES = 16
_MOST_CALLS = 3
_MOST_SECONDS = 1e6
_LONGEST = 2000
_SHORT = 100
_T = TypeVar("_T")


class HostileError(Exception):
    """What came out is not what it must be; the message says what, for people."""


@dataclass(kw_only=True)
class Answer:
    """What came of one case.

    Attributes:
        results: files of its calls, in their order; each is there, and as long as its shape and dtype say.
        wrong: what is wrong with it, whatever its numbers.
        seconds: wall time in the container.
        said: results that were spoken of, taken or not.
        began: whether it began; likewise ``ended``.
        end: how its process ended under it.
    """

    results: list[CallResult] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    said: int = 0
    began: bool = False
    ended: bool = False
    end: End | None = None


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What came of an order: of each case in its order; ``refused``: why the kernel could not be loaded at all."""

    cases: tuple[Answer, ...]
    found: tuple[Found, ...]
    refused: str | None = None
    first_end: End | None = None


def dtype_named(name: str) -> np.dtype[np.generic] | None:
    """Return the NumPy type of a torch dtype's name; ``None`` for one that results cannot have."""
    return next((known for known in numpy_types().values() if known.name == name), None)


def read_identity(results: Path) -> Found:
    """Return which torch and GPU there are.

    Raises:
        HostileError: it is not said in the form that it must have.
    """
    return _cleaned(_decoded(_content(results / IDENTITY, _MOST_IDENTITY), Found))


def read_answers(results: Path, count: int) -> Answers:
    """Return what came of so many cases.

    Raises:
        HostileError: the report as a whole is not in its form; what is odd about one case fails that case.
    """
    answers = [Answer() for _ in range(count)]
    found: list[Found] = []
    refused = None
    for line in _lines(results / REPORT, Line):
        if line.found is not None:
            found.append(_cleaned(line.found))
        if line.refused is not None:
            refused = clean(line.refused)
        if 0 <= line.case < count:
            _take(answers[line.case], line, results)
    ends = [replace(end, said=clean(end.said[-_LONGEST:])) for end in _lines(results / ENDS, End)]
    for end in ends:
        if 0 <= end.case < count and answers[end.case].end is None:
            answers[end.case].end = end
    before = next((end for end in ends if end.case < 0), None)
    return Answers(cases=tuple(answers), found=tuple(found), refused=refused, first_end=before)


def clean(text: str) -> str:
    """Return hostile text in one printable line of limited length."""
    words = " ".join(text[: 4 * _LONGEST].split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)[:_LONGEST]


def load(result: CallResult, results: Path) -> Array:
    """Return a result whose file was checked before (``read_answers``)."""
    dtype = dtype_named(result.dtype)
    assert dtype is not None  # noqa: S101 - it was checked
    return np.frombuffer((results / result.file).read_bytes(), dtype).reshape(result.shape)


def _take(answer: Answer, line: Line, results: Path) -> None:
    """Add a line to what came of its case."""
    answer.began |= line.began
    if line.wrong is not None:
        answer.wrong = [*answer.wrong, clean(line.wrong)][:_MOST_CALLS]
    if line.seconds is not None and not answer.ended:
        answer.ended = True
        answer.seconds = line.seconds if 0 <= line.seconds < _MOST_SECONDS else 0.0
    if line.result is not None:
        answer.said += 1
        if fault := _fault(line.result, line.case, answer.said, results):
            answer.wrong = [*answer.wrong, fault][:_MOST_CALLS]
        else:
            answer.results.append(replace(line.result, call=clean(line.result.call)))


def _fault(result: CallResult, case: int, place: int, results: Path) -> str | None:
    """Return why a result is not taken; ``None`` if its file is what it says."""
    said = f"the result of {clean(result.call)[:100]}"
    if place > _MOST_CALLS or result.file != f"{case}-{place}.bin":
        return f"{said} is said to be in another file than its own, or is one more than there are calls"
    dtype = dtype_named(result.dtype)
    if dtype is None:
        return f"{said} has the dtype {clean(result.dtype)[:40]}, which has no counterpart in NumPy"
    if len(result.shape) > _MOST_AXES or any(axis < 0 for axis in result.shape):
        return f"{said} has no shape that an array can have"
    wrong = _wrong_bytes(results / result.file, result.shape, dtype)
    return wrong and f"{said} {wrong}"


def _wrong_bytes(path: Path, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> str | None:
    """Return why a file is not an array's; ``None`` if it is."""
    try:
        status = path.lstat()
    except OSError:
        return "is not there"
    if not stat.S_ISREG(status.st_mode) or status.st_size != math.prod(shape) * dtype.itemsize:
        return f"does not have as many bytes as its shape {list(shape)} and dtype {dtype} ask for"
    if math.prod(max(axis, 1) for axis in shape) * dtype.itemsize > MOST_BYTES:  # so NumPy counts axes of 0
        return f"has the shape {list(shape)}, and no axis of a result can be that long"
    return None


def _lines(path: Path, kind: type[_T]) -> Iterator[_T]:
    """Yield the whole lines of a file; a process may have been ended within one."""
    if not path.exists():
        return
    for line in _content(path, MOST_REPORT).rpartition(b"\n")[0].splitlines():
        yield _decoded(line, kind)


def _content(path: Path, most: int) -> bytes:
    """Return a regular file that is not too large, following no link."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as err:
        raise HostileError(f"{path.name} cannot be read: {err.strerror}") from err
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise HostileError(f"{path.name} is no file of at most {most} bytes")
        return os.read(number, most)
    finally:
        os.close(number)


def _decoded(text: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise HostileError(f"what it wrote is not in its form: {clean(str(err))}") from err


def _cleaned(found: Found) -> Found:
    return Found(
        torch=clean(found.torch)[:_SHORT],
        hip=None if found.hip is None else clean(found.hip)[:_SHORT],
        cuda=None if found.cuda is None else clean(found.cuda)[:_SHORT],
        devices=found.devices,
        name=clean(found.name)[:_SHORT],
        arch=clean(found.arch)[:_SHORT],
        memory=found.memory,
        problem=None if found.problem is None else clean(found.problem),
    )
