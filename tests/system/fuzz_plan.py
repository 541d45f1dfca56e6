"""A fuzzer over matrix.yaml and build.toml: whatever they hold, planning ends with a plan or with one harmless message.

``python -m tests.system.fuzz_plan --seconds 600`` mutates good files line by line and token by token, seed after seed;
CI runs two thousand of them (``test_fuzz_plan.py``). A seed that failed is repeated with ``--first SEED --seconds 0``.
``fuzz_plan_guided.py`` does it with libFuzzer, guided by the code that is reached.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.github import github_matrix
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.planner import make_plan
from rocmatrix.plan.project_files import Entry, require_processors, require_sources

ROOT = Path(__file__).parents[2]
SLOWEST = 2.0
"""Processor seconds that one input may take."""

_TOKENS = (
    *(
        "&a ",
        "*a",
        "!!str ",
        "? ",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "\n",
        "|\n",
        "2.10",
        "---\n",
        "<<: ",
        "# ",
    ),
    *(
        "\x1b[31m",
        "\0",
        "\ufeff",
        "\u202e",
        "r\u043ecm",
        "::error::x",
        "##[error]x",
        "${{ x }}",
        "$(id)",
        "../",
        "*.hip",
    ),
    *(
        "-1",
        "1e999",
        "0x1",
        "nan",
        "true",
        "no",
        "null",
        "~",
        "2026-01-01",
        "9" * 40,
        "[[",
        "]]",
        " = ",
        '"""',
        "\\u0000",
    ),
    *("gfx942", "gfx940", "gfx924", "gfx942:xnack+", '"7.14"', '"71.4"', '"10.0"', '"2.13"', "llvm", "rocm", "torch"),
)
_VALUE = re.compile(r"(?<=[:=] ).+")


def seeds(file: str) -> list[str]:
    """Return good files to begin with: the examples of the documentation."""
    fence = {"matrix": "yaml", "manifest": "toml"}[file]
    guide = (ROOT / "docs" / f"{file}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{fence}\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)


def mutated(text: str, draw: random.Random) -> bytes:
    """Return a file with one to six things wrong."""
    for _ in range(draw.randint(1, 6)):
        text = draw.choice(_MUTATIONS)(text, draw)
    return text.encode(errors="surrogatepass")[: 1 << 17]


def _token(text: str, draw: random.Random) -> str:
    start = draw.randint(0, len(text))
    return text[:start] + draw.choice(_TOKENS) + text[min(len(text), start + draw.randint(0, 6)) :]


def _line(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    place, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[place : place + draw.randint(0, 1)] = [lines[other]] * draw.randint(0, 2)
    return "\n".join(lines)


def _value(text: str, draw: random.Random) -> str:
    found = list(_VALUE.finditer(text))
    if not found:
        return text
    at = draw.choice(found)
    return text[: at.start()] + draw.choice((*_TOKENS, draw.choice(found)[0])) + text[at.end() :]


def _repeat(text: str, draw: random.Random) -> str:
    start = draw.randint(0, len(text))
    return text[:start] + text[start : start + draw.randint(1, 30)] * draw.choice((2, 3, 50, 400)) + text[start:]


def _flip(text: str, draw: random.Random) -> str:
    if not text:
        return text
    place = draw.randrange(len(text))
    return text[:place] + chr(draw.choice((draw.randrange(128), draw.randrange(0x11000)))) + text[place + 1 :]


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (_token, _line, _value, _repeat, _flip)


@dataclass(kw_only=True)
class Told:
    """What came of an input: ``plan`` or the message, and the processor seconds that it took."""

    says: str
    seconds: float


def plan(matrix: bytes, manifest: bytes) -> Told:
    """Plan two files as the command line does, and check whatever is said about them.

    Raises:
        AssertionError: the message could act on a terminal or a workflow, or it took too long.
    """
    started = time.process_time()
    try:
        asked = parse_matrix(matrix, "matrix.yaml")
        kernel = parse_manifest(manifest, "build.toml")
        compat = load_compat()
        require_processors(kernel, compat, "build.toml")
        require_sources(kernel, _listing, "build.toml")
        made = make_plan(asked, {entry.path: kernel for entry in asked.kernels}, compat, toolchain="llvm")
        github_matrix(made.units, max_jobs=64)
        said = "plan"
        texts: Iterable[str] = (*made.warnings, *(cell.reason for cell in made.cells))
    except InputError as err:
        said = str(err)
        texts = (said,)
        assert said.isascii(), ascii(said)
    seconds = time.process_time() - started
    for text in texts:  # an author's own reason for an exclude may be in any language
        _require_harmless(text)
    assert seconds < SLOWEST, f"{seconds:.1f} s"
    return Told(says=said, seconds=seconds)


def _listing(folder: str) -> dict[str, Entry]:
    """List the project of the guide, and a symbolic link."""
    folders = {
        "": {"gemm": Entry.FOLDER, "torch-ext": Entry.FOLDER, "link": Entry.LINK},
        "gemm": dict.fromkeys(("gemm.hip", "gemm.h"), Entry.FILE),
        "torch-ext": dict.fromkeys(("torch_binding.cpp", "torch_binding.h"), Entry.FILE),
    }
    return folders.get(folder, {})


def _require_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.lstrip().startswith("::"), line
    assert "##[" not in text, text
    assert "${{" not in text, text
    assert len(text) < 20_000, len(text)  # a screen or two: reasons of many cells are listed


def plan_seed(number: int) -> Told:
    """Plan one good and one mutated file, or two mutated ones, as the number says."""
    draw = random.Random(number)  # noqa: S311 - the same number makes the same files
    matrix, manifest = draw.choice(seeds("matrix")), draw.choice(seeds("manifest"))
    which = number % 3
    try:
        return plan(
            matrix.encode() if which == 0 else mutated(matrix, draw),
            manifest.encode() if which == 1 else mutated(manifest, draw),
        )
    except BaseException as err:
        err.add_note(f"to repeat it: python -m tests.system.fuzz_plan --seconds 0 --first {number}")
        raise


def plan_bytes(data: bytes) -> None:
    """Plan what libFuzzer made: the first byte says which file it is of; the other one is good."""
    matrix, manifest = seeds("matrix")[0].encode(), seeds("manifest")[0].encode()
    if data[:1] < b"\x80":
        plan(data[1:], manifest)
    else:
        plan(matrix, data[1:])


def main() -> int:
    """Fuzz for a while; print what was reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    until, number, kinds, slowest = time.monotonic() + arguments.seconds, arguments.first, set[str](), 0.0
    while True:
        told = plan_seed(number)
        kinds.add(re.sub(r"'.*'|[0-9]+", "", told.says.partition("\n")[0].rpartition(": ")[2]))
        slowest = max(slowest, told.seconds)
        number += 1
        if time.monotonic() >= until:
            break
    done = number - arguments.first
    print(f"{done} inputs, {len(kinds)} kinds of outcome, slowest {slowest:.3f} s")  # noqa: T201 - a program's output
    return 0


if __name__ == "__main__":
    sys.exit(main())
