"""A translation as one C file, and the tables by which a loaded one is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from rocmatrix.emulator.translator.blocks import Block, Refusal

HEADERS = (
    "operations.h",
    "wave.h",
    "races.h",
    "global_races.h",
    "lds_races.h",
    "memory.h",
    "shadow.h",
    "late.h",
    "matrix.h",
    "exact.h",
    "driver.h",
)

_INCLUDES = tuple(f'#include "{name}"' for name in ("memory.h", "late.h", "matrix.h", "exact.h"))
_SHORT = 200_000
"""Characters of C that are worth a compiler of their own: about a second."""
_EXPORT = '__attribute__((visibility("default")))'


def runtime_header(name: str) -> str:
    """Return the text of a header of the runtime."""
    return (resources.files("rocmatrix.emulator.translator") / "runtime" / name).read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """C files that become one library; none needs what another defines, but for the last, which needs all."""

    files: tuple[str, ...]


def module_sources(blocks: Sequence[Block], refusals: Sequence[Refusal], *, parts: int) -> Sources:
    """Return C files with these blocks, so divided that they can be compiled side by side.

    Args:
        blocks: what is translated.
        refusals: what is not.
        parts: how many files to make at most; short code is not divided.
    """
    total = sum(len(block.text) for block in blocks)
    parts = max(1, min(parts, total // _SHORT))
    files: list[list[Block]] = [[] for _ in range(parts)]
    place = 0
    for block in blocks:
        files[place * parts // max(1, total)].append(block)
        place += len(block.text)
    return Sources(files=(*(_blocks_text(part) for part in files), _tables_text(blocks, refusals)))


def _blocks_text(blocks: Sequence[Block]) -> str:
    """Return a C file with some blocks; functions that several of them need are there once."""
    functions = {name: text for block in blocks for name, text in block.functions.items()}
    return "\n".join([*_INCLUDES, *functions.values(), *(block.text for block in blocks)]) + "\n"


def _tables_text(blocks: Sequence[Block], refusals: Sequence[Refusal]) -> str:
    declared = "".join(f"int block_{block.offset:x}(struct wave*);\n" for block in blocks)
    entries = "".join(f"  {{{block.offset}, {block.last}, block_{block.offset:x}}},\n" for block in blocks)
    reasons = "".join(f"  {{{refusal.offset}, {json.dumps(refusal.reason)}}},\n" for refusal in refusals)
    return f"""#include "driver.h"
{declared}
struct entry {{ s_u32 offset, last; block run; }};
{_EXPORT} const struct entry entries[] = {{
{entries}  {{0, 0, 0}}}};
struct refusal {{ s_u64 offset; const char* reason; }};
{_EXPORT} const struct refusal refusals[] = {{
{reasons}  {{0, 0}}}};
"""
