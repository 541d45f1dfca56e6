"""A translation as one C file, and the tables by which a loaded one is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from rocmatrix.emulator.translator.blocks import Block, Refusal

HEADERS = ("operations.h", "wave.h", "memory.h", "matrix.h", "driver.h")

_EXPORT = '__attribute__((visibility("default")))'


def runtime_header(name: str) -> str:
    """Return the text of a header of the runtime."""
    return (resources.files("rocmatrix.emulator.translator") / "runtime" / name).read_text(encoding="utf-8")


def module_text(blocks: Sequence[Block], refusals: Sequence[Refusal]) -> str:
    """Return a C file with these blocks; functions that several of them need are there once."""
    lines = [f'#include "{name}"' for name in HEADERS]
    functions = {name: text for block in blocks for name, text in block.functions.items()}
    lines += [*functions.values(), *(block.text for block in blocks)]
    entries = "".join(f"  {{{block.offset}, {block.last}, block_{block.offset:x}}},\n" for block in blocks)
    reasons = "".join(f"  {{{refusal.offset}, {json.dumps(refusal.reason)}}},\n" for refusal in refusals)
    lines.append(f"struct entry {{ s_u32 offset, last; block run; }};\n{_EXPORT} const struct entry entries[] = {{")
    lines.append(f"{entries}  {{0, 0, 0}}}};")
    lines.append(
        f"struct refusal {{ s_u64 offset; const char* reason; }};\n{_EXPORT} const struct refusal refusals[] = {{"
    )
    lines.append(f"{reasons}  {{0, 0}}}};")
    return "\n".join(lines) + "\n"
