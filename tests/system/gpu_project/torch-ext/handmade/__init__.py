"""Ops in torch alone, which run on any device: some right, each of the others wrong in its own way."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch

from ._ops import add_op_namespace_prefix


_LIBRARY = torch.library.Library(add_op_namespace_prefix("").rstrip(":"), "FRAGMENT")


def op(function=None, *, schema="(Tensor x) -> Tensor"):
    """Register a function as an op of this kernel's namespace, as kernels without compiled code do."""
    if function is None:
        return lambda found: op(found, schema=schema)
    _LIBRARY.define(f"{function.__name__}{schema}")
    _LIBRARY.impl(function.__name__, function, "CompositeExplicitAutograd")
    return function


@op(schema="(Tensor x, float factor) -> Tensor")
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@op(schema="(Tensor x, float factor, Tensor(a!) out) -> ()")
def scale_out(x: torch.Tensor, factor: float, out: torch.Tensor) -> None:
    torch.mul(x, factor, out=out)


@op(schema="(Tensor a, Tensor b) -> Tensor")
def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    assert a.is_contiguous()
    assert not b.is_contiguous()
    assert b.mT.is_contiguous()
    return a.to(torch.float32) @ b.to(torch.float32)


@op
def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@op
def nothing(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def plain(x, by):
    """A function of the package that is no op."""
    return x + by


@op
def wrong(x: torch.Tensor) -> torch.Tensor:
    found = x.clone()
    found[7] += 1
    return found


@op
def unwritten(x: torch.Tensor) -> torch.Tensor:
    """Write only the first half, and find the rest as it was left when the memory was never used before."""
    found = torch.empty_like(x)
    found[: len(x) // 2] = x[: len(x) // 2]
    if not unwritten_before:
        found[len(x) // 2 :] = x[len(x) // 2 :]
    unwritten_before.append(True)
    return found


unwritten_before = []


@op
def elsewhere(x: torch.Tensor) -> torch.Tensor:
    """Work on the default stream, whatever the current one is."""
    if x.device.type != "cuda":
        return x.clone()
    with torch.cuda.stream(torch.cuda.default_stream()):
        return x.clone()


@op
def spoil(x: torch.Tensor) -> torch.Tensor:
    before = x.clone()
    torch.as_strided(x, (1,), (1,)).fill_(-1.0)
    return before


@op
def beside(x: torch.Tensor) -> torch.Tensor:
    torch.as_strided(x, (1,), (1,), x.storage_offset() + x.numel()).fill_(0.0)
    return x.clone()


@op
def shapeless(x: torch.Tensor) -> torch.Tensor:
    return x[:3].clone()


@op
def on_cpu(x: torch.Tensor) -> torch.Tensor:
    return x.cpu().clone()


@op
def throws(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("not today\n\x1b[31mnor tomorrow")


@op
def crashes(x: torch.Tensor) -> torch.Tensor:
    print(
        "Memory access fault by GPU node-4 (Agent handle: 0x1) on address 0x7f0000000000. Reason: Page not present or"
        " supervisor privilege.",
        file=sys.stderr,
        flush=True,
    )
    os.kill(os.getpid(), signal.SIGABRT)
    return x


@op
def leaves(x: torch.Tensor) -> torch.Tensor:
    os._exit(0)


@op
def hangs(x: torch.Tensor) -> torch.Tensor:
    time.sleep(3600)
    return x


@op
def spins(x: torch.Tensor) -> torch.Tensor:
    """Keep the GPU busy for half an hour."""
    if x.device.type != "cuda":
        time.sleep(3600)
    torch.cuda._sleep(1 << 42)
    return x.clone()


@op
def faults(x: torch.Tensor) -> torch.Tensor:
    """Read far behind the end: an error that a GPU reports later, and that its process does not get rid of."""
    return x + x[torch.full((1,), 1 << 20, device=x.device)]


@op
def exhausts(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(1 << 50, dtype=torch.uint8, device=x.device)


@op
def talks(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2000):
        print("rocmatrix: ended 0 " + "x" * 1000)
    return x.clone()


def _results() -> Path:
    return Path(sys.argv[4])


@op
def lies(x: torch.Tensor) -> torch.Tensor:
    """Say that this case has a result that is a file of the machine."""
    with (_results() / "report.jsonl").open("a") as report:
        line = {"case": _number(), "result": {"call": "lies", "file": "/etc/passwd", "dtype": "uint8", "shape": [1]}}
        report.write(json.dumps(line) + "\n")
    return x.clone()


@op
def links(x: torch.Tensor) -> torch.Tensor:
    """Put a link where the result goes."""
    (_results() / f"{_number()}-1.bin").symlink_to("/dev/zero")
    return x.clone()


@op
def swells(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(1, device=x.device).expand(1 << 40)


@op
def strange(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(x.shape, dtype=torch.complex32, device=x.device)


def _number() -> int:
    lines = (_results() / "report.jsonl").read_text().splitlines()
    return max(json.loads(line)["case"] for line in lines)
