"""``python -m tests.mutation --kernel gemm --out FOLDER``: change one instruction at a time, and see what notices it.

Run again with the same folder it goes on where it was ended. The tables go to the standard output, survivors to
``FOLDER/survivors.txt``. Needs the package's extra ``embedded``; for kernels of Triton also Triton.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.mutation.campaign import Result, run
from tests.mutation.subjects import SUBJECTS
from tests.mutation.table import table


def main() -> int:
    """Run what is asked for and print the tables."""
    options = _parser().parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for name in options.kernel or sorted(SUBJECTS):
        for subject in SUBJECTS[name](options.out):
            if options.only and subject.name not in options.only:
                continue
            began = time.monotonic()
            results += run(
                subject,
                cache=options.out / "code",
                results=options.out / f"{subject.name}.jsonl",
                sample=options.sample,
                seed=options.seed,
                processes=options.processes,
                thorough=options.thorough,
                again=options.again,
                edges=options.edges,
            )
            sys.stderr.write(f"{subject.name}: {time.monotonic() - began:.0f} s\n")
    sys.stdout.write("\n".join([*table(results, thorough=options.thorough), ""]))
    survivors = [
        f"{each.subject} {each.said}{'' if each.reached else ' (never executed)'}" for each in results if each.survived
    ]
    (options.out / "survivors.txt").write_text("".join(f"{line}\n" for line in survivors), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--kernel", action="append", choices=sorted(SUBJECTS), help="which kernels (default: all)")
    parser.add_argument("--only", action="append", help="of these the subjects of this name, e.g. gemm-00")
    parser.add_argument("--out", type=Path, required=True, help="folder for code, results and survivors")
    parser.add_argument("--sample", type=int, help="so many mutants of each subject (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="that judge side by side (default: %(default)s)")
    parser.add_argument("--thorough", action="store_true", help="ask every detector, not the first that notices")
    parser.add_argument("--again", action="store_true", help="try survivors again: trials or reasons were added")
    parser.add_argument(
        "--edges", action="store_true", help="try survivors at every edge of a tile, follow their results"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
