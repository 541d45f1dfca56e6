"""What the two sides of the container tell each other, as JSON; outside, every byte of an answer is checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ORDER = "order.json"
IDENTITY = "identity.json"
REPORT = "report.jsonl"
ENDS = "ends.jsonl"
BEGAN, ENDED = "rocmatrix: began", "rocmatrix: ended"
"""What is printed, with the number of the case behind it, so that somebody knows while the container still runs."""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of a case.

    Attributes:
        dtype: as torch calls it.
        shape: as the op sees it.
        transposed: whether it is the transpose of what lies in the file.
        file: its bytes in the order of memory, below the folder of inputs.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    transposed: bool
    file: str


@dataclass(frozen=True, kw_only=True)
class OrderedCase:
    """One case: its operator, its arguments in order, and the seconds that it may take."""

    name: str
    op: str
    arguments: tuple[Argument, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be run.

    Attributes:
        device: kind of torch's device; ``cuda`` is how a torch for ROCm calls its GPUs.
        cases: in this order.
        start_seconds: that loading torch and the kernel may take.
        most_bytes: of one result.
    """

    device: str
    cases: tuple[OrderedCase, ...]
    start_seconds: float
    most_bytes: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """Which torch and which GPU there are.

    Attributes:
        torch: ``torch.__version__``; ``hip`` and ``cuda`` likewise, ``None`` where this torch has none.
        devices: GPUs that torch sees.
        name: of the GPU; ``""`` without one.
        arch: ``gcnArchName`` with its features, e.g. ``gfx942:sramecc+:xnack-``; ``""`` if there is none.
        memory: bytes.
        problem: what went wrong when a first small kernel ran; ``None`` if it gave the right result.
    """

    torch: str = ""
    hip: str | None = None
    cuda: str | None = None
    devices: int = 0
    name: str = ""
    arch: str = ""
    memory: int = 0
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """What a call returned: which call, its bytes in a file below the folder of results, dtype and shape."""

    call: str
    file: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the report.

    Attributes:
        case: number of the case; -1 before the first.
        began: whether it begins.
        result: of one of its calls.
        wrong: what is wrong with it, whatever its numbers.
        seconds: wall time, if it ended.
        refused: why the kernel could not be loaded.
        found: the torch and the GPU of the process that writes this.
    """

    case: int = -1
    began: bool = False
    result: CallResult | None = None
    wrong: str | None = None
    seconds: float | None = None
    refused: str | None = None
    found: Found | None = None


@dataclass(frozen=True, kw_only=True)
class End:
    """How a process ended that did not come to the end of its cases.

    Attributes:
        case: that ran; -1 before the first.
        status: exit status, negative for a signal; ``None`` if it could not be ended.
        late: whether it was ended because its time was over.
        said: the last that it printed.
    """

    case: int
    status: int | None
    late: bool
    said: str


def read_order(inputs: Path) -> Order:
    """Return the order that lies in a folder."""
    read = json.loads((inputs / ORDER).read_text())
    cases = []
    for case in read.pop("cases"):
        arguments = case.pop("arguments")
        cases.append(OrderedCase(**case, arguments=tuple(Argument(**argument) for argument in arguments)))
    return Order(**read, cases=tuple(cases))
