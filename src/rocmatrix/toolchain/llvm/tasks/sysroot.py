"""Let zig build its C++ library, and keep what a linker needs: ``sysroot.py OUTPUT ZIG TARGET NAME...``.

zig's own C++ driver builds libc++, libc++abi, compiler-rt and stub libraries of glibc when it links for the first time,
into a cache whose file names are digests. ``-v`` makes it print the linker's command line, which names them. They are
copied under their plain names, so that links can call ld.lld directly: with flags of our own, always the same archives,
and no compile cache that could be stale. The cache, 111 MB, is thrown away.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Fill the folder OUTPUT; return the exit status."""
    output, zig, target, *names = argv
    # -O2: else zig builds its sanitizer runtime as well, a fifth of all the time. The other archives are the same.
    command = (zig, "c++", "-target", target, "-O2", "-s", "-shared", "-v", "-x", "c++", os.devnull)
    with tempfile.TemporaryDirectory(prefix=".zig-cache.", dir=Path(output).parent) as scratch:
        done = subprocess.run(
            [*command, "-o", f"{scratch}/empty.so"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": f"{scratch}/global", "ZIG_LOCAL_CACHE_DIR": f"{scratch}/local"},
        )
        found = linked_files(done.stdout)
        missing = [name for name in names if name not in found]
        if done.returncode or missing:
            print(done.stdout, f"zig's linker command does not name {missing}", sep="\n")  # noqa: T201 - for the log
            return done.returncode or 1
        for name in names:
            shutil.copyfile(found[name], Path(output, name))
    return 0


def linked_files(log: str) -> dict[str, Path]:
    """Return the files in the linker's command line that a log of ``zig c++ -v`` holds, by their names."""
    lines = [line for line in log.splitlines() if line.startswith("ld.lld ")]
    words = shlex.split(lines[-1]) if lines else []
    return {Path(word).name: Path(word) for word in words if "/" in word and not word.startswith("-")}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
