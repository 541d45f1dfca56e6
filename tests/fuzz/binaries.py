"""Fuzz the readers of binaries: ``python -m tests.fuzz.binaries [--seconds S] [--seed N] [--memory BYTES] [FILE]...``

Files are damaged in memory and read as the audit reads them. What may happen is that facts come out, or that the file
is refused with a reason; anything else is written down with the bytes that caused it. The process limits its own
address space to what it has when it starts, plus ``--memory``, and each read to ten seconds of processor time.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import msgspec

from rocmatrix.audit.binary_file import read_content
from rocmatrix.audit.facts import DeviceFile
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.summary import binary_facts, device_file_facts
from rocmatrix.binary.facts import UnreadableError
from tests.fuzz.hostile import HOSTILE
from tests.fuzz.mutations import mutate
from tests.unit.binary.corpus import COMPRESSED, FOLDER, PACKAGES

READ_SECONDS = 10
"""Processor time that one read may take."""
LARGEST = 1 << 22
"""Bytes of a file that is damaged; larger ones are too slow to be tried often."""


class TooSlowError(Exception):
    """A read took longer than any may."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    Attributes:
        reads: how they ended -> how many.
        failures: what else happened, with the name of the file.
        slowest: processor time of the slowest read, in seconds.
        peak: memory of the process at its peak, in bytes.
    """

    reads: dict[str, int]
    failures: list[str]
    slowest: float
    peak: int


def main(arguments: list[str]) -> int:
    """Run, print the report as JSON, return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=1 << 30)
    parser.add_argument("--failures", type=Path, help="folder for the bytes that made something fail")
    parser.add_argument("--hostile", action="store_true", help="also read the files that were made to be hostile")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    seeds = [(FOLDER / name).read_bytes() for name in ("plain", "gfx942.co", *COMPRESSED, *PACKAGES)]
    hosts = [path.read_bytes() for path in options.files if path.stat().st_size <= LARGEST]
    seeds += [*hosts, *(with_gpu_code(host, seed) for host in hosts for seed in seeds[:4])]
    fuzzer = Fuzzer(options.failures)
    for seed in seeds:
        fuzzer.read("undamaged", seed)
    _limit_memory(options.memory)
    if options.hostile:
        for name, make in HOSTILE.items():
            fuzzer.read(name, make())
    chance = random.Random(options.seed)  # noqa: S311 - reproducible, no secret
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        fuzzer.read("damaged", mutate(chance.choice(seeds), seeds, chance))
    report = fuzzer.report()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    return 1 if report.failures else 0


def with_gpu_code(host: bytes, code: bytes) -> bytes:
    """Return a shared object that also maps GPU code: in the segment that said something about the stack."""
    data = bytearray(host.ljust(-(-len(host) // 4096) * 4096, b"\0"))
    start, count = int.from_bytes(data[0x20:0x28], "little"), int.from_bytes(data[0x38:0x3A], "little")
    for place in range(start, start + 56 * count, 56):
        if data[place : place + 4] == b"\x51\xe5\x74\x64":
            numbers = (1, 4, len(data), 1 << 32, 1 << 32, len(code), len(code), 4096)
            sizes = (4, 4, 8, 8, 8, 8, 8, 8)
            data[place : place + 56] = b"".join(
                number.to_bytes(size, "little") for number, size in zip(numbers, sizes, strict=True)
            )
    return bytes(data + code)


class Fuzzer:
    """Reads, and counts what came of it."""

    def __init__(self, failures: Path | None) -> None:
        """Keep bytes that made something fail in a folder, if one is given."""
        self._folder = failures
        self._machines = load_policy().machines
        self._reads: Counter[str] = Counter()
        self._failures: list[str] = []
        self._slowest = 0.0

    def read(self, name: str, data: bytes) -> None:
        """Read some bytes as the audit reads a file."""
        started = time.process_time()
        try:
            with _deadline():
                found = read_content(data, name, self._machines)
            msgspec.json.encode(device_file_facts(found) if isinstance(found, DeviceFile) else binary_facts(found))
            self._reads["read"] += 1
        except UnreadableError:
            self._reads["refused"] += 1
        except Exception as err:  # noqa: BLE001 - this is what is looked for
            self._reads["failed"] += 1
            self._failures.append(f"{name}: {type(err).__name__}: {err}")
            if self._folder is not None:
                (self._folder / f"{len(self._failures)}.bin").write_bytes(data)
        self._slowest = max(self._slowest, time.process_time() - started)

    def report(self) -> Report:
        """Return what came of it."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Report(reads=dict(self._reads), failures=self._failures, slowest=self._slowest, peak=peak)


@contextmanager
def _deadline() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlowError(f"a read took longer than {READ_SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, READ_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limit_memory(more: int) -> None:
    """Let the process have no more than it has, plus so many bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
