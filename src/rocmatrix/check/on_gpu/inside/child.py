"""The process that loads torch and the kernel and runs cases, one after the other, until something takes it down.

Each case calls its op three times: as anybody would; then on another stream whose inputs arrive late and whose memory
is poisoned, so that a kernel on the wrong stream, or one that leaves results unwritten, gives wrong numbers; and the
variant of the op that writes into ``out``, where there is one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch

from .kernel import Kernel, Operator, plain
from .memory import Guarded, foul, guarded, poisoned_like, read_bytes, save, size_of
from .wire import REPORT, CallResult, Found, Line, Order, OrderedCase, read_order

UNUSABLE = 86
"""Exit status of a process whose GPU takes no more work: an error of HIP stays with a process."""
LATE_CYCLES = 10_000_000
"""Cycles that inputs are late: about 5 ms. torch counts a CDNA GPU's own clock, some 2 GHz (pytorch/pytorch#197541)."""
_LONGEST = 1500


class WrongError(Exception):
    """A case is wrong whatever its numbers; the message says why."""


def look(device: str) -> Found:
    """Return which torch and which GPU there are, after a first small kernel has run."""
    gpu = device == "cuda"
    found = {"torch": str(torch.__version__), "hip": torch.version.hip, "cuda": torch.version.cuda, "devices": 0}
    problem, count = None, 0
    try:
        count = _count() if gpu else 0
        found["devices"] = count
        if count:
            properties = torch.cuda.get_device_properties(0)
            arch, memory = str(getattr(properties, "gcnArchName", "")), int(properties.total_memory)
            found |= {"name": str(properties.name), "arch": arch, "memory": memory}
        if count or not gpu:
            total = float((torch.arange(1000, device=device) * 2).sum())
            problem = None if total == 999_000.0 else f"the first small sum was {total} instead of 999000"  # noqa: PLR2004
    except Exception as err:  # noqa: BLE001 - whatever it is, this GPU cannot be used
        problem = one_line(err)
    return Found(**found, problem=problem)


def _count() -> int:
    """Return how many GPUs the runtime can use.

    ``torch.cuda.device_count`` asks AMD's management library where there is one, and that may count GPUs that the
    container has no right to.
    """
    counts = getattr(torch._C, "_cuda_getDeviceCount", None)  # noqa: SLF001 - what torch itself asks otherwise
    return int(counts()) if counts else 0


def main(payload: Path, inputs: Path, results: Path, first: int, news: int) -> None:
    """Run the cases of an order from one of them on.

    Args:
        payload: folder of the kernel.
        inputs: folder with the order.
        results: folder to write to.
        first: number of the case to begin with.
        news: descriptor that the number of each case is written to when it begins and when it ended.
    """
    order = read_order(inputs)
    with (results / REPORT).open("ab", buffering=0) as report:

        def tell(line: Line) -> None:
            report.write(json.dumps(asdict(line)).encode() + b"\n")
            if line.began or line.seconds is not None:
                os.write(news, f"{'began' if line.began else 'ended'} {line.case}\n".encode())

        tell(Line(found=look(order.device)))
        try:
            kernel = Kernel(payload)
        except Exception as err:  # noqa: BLE001 - the author's code may raise anything
            tell(Line(refused=one_line(err)))
            return
        for number in range(first, len(order.cases)):
            tell(Line(case=number, began=True))
            Runner(order, kernel, inputs=inputs, results=results, number=number, tell=tell).run()


class Runner:
    """Runs one case."""

    def __init__(
        self,
        order: Order,
        kernel: Kernel,
        *,
        inputs: Path,
        results: Path,
        number: int,
        tell: Callable[[Line], None],
    ) -> None:
        """Keep what is needed."""
        self._device = torch.device(order.device)
        self._most_bytes = order.most_bytes
        self._case: OrderedCase = order.cases[number]
        self._kernel = kernel
        self._inputs, self._results = inputs, results
        self._number = number
        self._kept = 0
        self._tell = tell

    def run(self) -> None:
        """Run the case and tell how it went."""
        started = time.monotonic()
        try:
            self._calls()
        except WrongError as err:
            self._tell(Line(case=self._number, wrong=str(err)))
        except Exception as err:  # noqa: BLE001 - a kernel may raise anything
            self._tell(Line(case=self._number, wrong=f"{self._case.op} threw {one_line(err)}"))
        usable = self._settle()
        self._tell(Line(case=self._number, seconds=time.monotonic() - started))
        if not usable:
            os._exit(UNUSABLE)

    def _calls(self) -> None:
        op = self._kernel.operator(self._case.op)
        if op is None:
            raise WrongError(f"the kernel has no op or function {self._case.op}")
        values = self._values(op.types)
        first = self._call(op, self._case.op, values)
        self._keep(self._case.op, first)
        values = self._values(op.types)
        with self._late(values):
            foul(size_of(first), self._device)
            again = self._call(op, f"{self._case.op} on another stream", values)
            self._keep(f"{self._case.op} on another stream", again)
        name = f"{self._case.op}_out"
        if op.types and (out_op := self._kernel.operator(name)):
            values = self._values(out_op.types)
            out = poisoned_like(first)
            self._call(out_op, name, values, out)
            self._keep(name, out.tensor)

    def _values(self, types: Sequence[str]) -> list[object]:
        """Make the arguments anew: tensors on the device where the op takes tensors, plain values elsewhere."""
        made: list[object] = []
        for place, argument in enumerate(self._case.arguments):
            content = read_bytes(argument, self._inputs)
            made_here = guarded(argument, content, self._device)
            takes = types[place] if place < len(types) else "Tensor"  # a function has no schema
            made.append(made_here if "Tensor" in takes else plain(made_here.tensor.cpu(), takes))
        return made

    def _call(self, op: Operator, name: str, values: Sequence[object], out: Guarded | None = None) -> torch.Tensor:
        """Call an op; return its one result, or ``out``."""
        given = [value.tensor if isinstance(value, Guarded) else value for value in values]
        assert callable(op.call)  # noqa: S101 - it was looked up as that
        result = op.call(*given, **({"out": out.tensor} if out else {}))
        if self._device.type == "cuda":
            torch.cuda.current_stream().synchronize()
        for argument, value in zip(self._case.arguments, values, strict=True):
            if isinstance(value, Guarded) and (fault := value.fault()):
                raise WrongError(f"{name}: the argument {argument.name} {fault}")
        if out is not None:
            if fault := out.fault(written=True):
                raise WrongError(f"{name}: out {fault}")
            return out.tensor
        if isinstance(result, tuple | list) and len(result) == 1:
            result = result[0]
        if not isinstance(result, torch.Tensor):
            raise WrongError(f"{name} returned {type(result).__name__} where one tensor is looked for")
        if result.device.type != self._device.type:
            raise WrongError(f"{name} returned a tensor on {result.device}, not on the GPU")
        return result

    @contextmanager
    def _late(self, values: Sequence[object]) -> Iterator[None]:
        """Do what follows on another stream, on which the inputs arrive a while after the work was queued."""
        if self._device.type != "cuda":
            yield
            return
        stream = torch.cuda.Stream()
        sources = [(value.raw, value.raw.clone()) for value in values if isinstance(value, Guarded)]
        for raw, _ in sources:
            raw.fill_(0xFF)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LATE_CYCLES)  # noqa: SLF001 - as torch's own tests do; there is no public name
            for raw, source in sources:
                raw.copy_(source)
            yield
            stream.synchronize()

    def _keep(self, call: str, result: torch.Tensor) -> None:
        size = size_of(result)
        if size > self._most_bytes:
            raise WrongError(f"{call} returned {size} bytes, and at most {self._most_bytes} are taken")
        self._kept += 1
        file = f"{self._number}-{self._kept}.bin"
        save(result, self._results / file)
        dtype = str(result.dtype).removeprefix("torch.")
        kept = CallResult(call=call, file=file, dtype=dtype, shape=tuple(result.shape))
        self._tell(Line(case=self._number, result=kept))

    def _settle(self) -> bool:
        """Wait until the GPU is through; say whether it takes more work."""
        if self._device.type != "cuda":
            return True
        try:
            torch.cuda.synchronize()
        except Exception as err:  # noqa: BLE001 - whatever it is, it came from the case that ran
            self._tell(Line(case=self._number, wrong=f"the GPU reports {one_line(err)}"))
            return False
        return True


def one_line(err: BaseException) -> str:
    """Return what an exception says, with its class, in one line that is not too long."""
    text = " ".join(str(err).split())
    return f"{type(err).__name__}: {text}"[:_LONGEST]
