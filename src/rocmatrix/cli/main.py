"""``rocmatrix``: read the arguments, call the verb, and turn whatever happens into an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import rocmatrix
from rocmatrix.cli import (
    audit,
    build,
    check,
    collect,
    diff,
    digest,
    doctor,
    failures,
    gate,
    hub,
    images,
    matrix,
    plan,
    rehearse,
    release,
    run,
    sbom,
    shell,
    streams,
    verify,
    watch,
    wheel,
    why,
    yank,
)
from rocmatrix.cli.options import Parser, Verb, add_common
from rocmatrix.errors import ExitCode, RocmatrixError

VERBS: tuple[Verb, ...] = (
    run.VERB,
    plan.VERB,
    build.VERB,
    audit.VERB,
    verify.VERB,
    check.VERB,
    collect.VERB,
    rehearse.VERB,
    release.VERB,
    wheel.VERB,
    sbom.VERB,
    yank.VERB,
    diff.VERB,
    why.VERB,
    watch.VERB,
    hub.VERB,
    images.VERB,
    shell.VERB,
    digest.VERB,
    gate.VERB,
    doctor.VERB,
    matrix.VERB,
)
"""In the order of ``rocmatrix --help``: the main job first, then its parts."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` is ``sys.argv[1:]`` if not given."""
    words = list(sys.argv[1:] if argv is None else argv)
    streams.open_closed()
    try:
        with failures.interruptible():
            arguments = make_parser().parse_args(words)
            verb: Verb = arguments.verb
            code = verb.execute(arguments)
    except SystemExit as end:  # argparse, after --help and --version
        code = ExitCode(end.code if isinstance(end.code, int) else 0)
    except RocmatrixError as err:
        code = failures.refuse(err, words)
    except KeyboardInterrupt:
        code = failures.interrupted(words)
    except BrokenPipeError:
        code = failures.reader_left()
    except OSError as err:
        code = failures.system(err, words)
    except Exception as err:  # noqa: BLE001 - the last place where a bug can be told from its traceback
        code = failures.bug(err, words)
    failures.flush()
    return int(code)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="rocmatrix",
        description="Build, audit, check and collect ROCm kernels for every torch x ROCm that matrix.yaml promises.",
        epilog="Exit codes: 0 done, 1 a bug in rocmatrix, 2 input or usage, 3 the environment lacks something, "
        "4 build, 5 audit, 6 check, 7 release, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rocmatrix {rocmatrix.__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, dest="name", title="verbs")
    for verb in VERBS:
        own = verbs.add_parser(verb.name, help=verb.summary, description=verb.summary, allow_abbrev=False)
        own.set_defaults(verb=verb)
        add_common(own)
        verb.declare(own)
    return parser
