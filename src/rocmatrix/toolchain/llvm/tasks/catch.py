"""Run the probe: ``catch.py CATCHER TIMES``; prints a JSON list with the message of each part."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Sequence

MESSAGE_BYTES = 1024


def main(argv: Sequence[str]) -> int:
    """Throw and catch every part; return the exit status."""
    library = ctypes.CDLL(argv[0])
    text = ctypes.create_string_buffer(MESSAGE_BYTES)
    messages = []
    for part in range(library.PyInit_probe_count()):
        library.PyInit_probe_catch(part, int(argv[1]), text, ctypes.c_size_t(MESSAGE_BYTES))
        messages.append(text.value.decode())
    print(json.dumps(messages))  # noqa: T201 - the program's answer
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
