"""The fuzzer over matrix.yaml and build.toml guided by coverage: ``python -m tests.system.fuzz_plan_guided FOLDER``.

Needs the package ``atheris``, which is in no lock. The folder keeps every input that reached something new; a second
run begins with them. Arguments after the folder go to libFuzzer, e.g. ``-max_total_time=600``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rocmatrix.plan", "tomllib", "yaml"]):
    from tests.system.fuzz_plan import plan_bytes, seeds


def main() -> None:
    """Write the good files into the folder and fuzz from there."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, mark in (("matrix", b"\x00"), ("manifest", b"\xff")):
        for number, seed in enumerate(seeds(file)):
            (folder / f"{file}-{number}").write_bytes(mark + seed.encode())
    atheris.Setup([sys.argv[0], str(folder), "-timeout=20", "-max_len=4096", *sys.argv[2:]], plan_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
