"""The options of the command line, each declared once, and what a verb is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rocmatrix.cli.check_values import budget, image_name, whole
from rocmatrix.errors import ExitCode, InputError

if TYPE_CHECKING:
    from rocmatrix import pipeline
    from rocmatrix.check.options import CheckOptions
    from rocmatrix.toolchain.engines import EngineChoice

DEFAULT_MATRIX = Path("matrix.yaml")
DEFAULT_OUT = Path("dist")


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One thing that ``rocmatrix`` can be told to do.

    Attributes:
        name: as typed.
        summary: one line for ``rocmatrix --help``.
        declare: adds the verb's own options to its parser.
        execute: does it; raises ``RocmatrixError`` for what a person can fix.
    """

    name: str
    summary: str
    declare: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[argparse.Namespace], ExitCode]


class UsageError(InputError):
    """The command line itself is wrong."""


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` whose errors are ours, so that ``--json`` holds for them too."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            UsageError: always.
        """
        raise UsageError(message, fix=f"Run `{self.prog} --help` for what is accepted.")

    def parse_known_args(  # type: ignore[override]  # one signature for argparse's three
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; words behind an option belong to a last argument that takes any number, as those before it do.

        argparse gives such an argument what stands before the first option, and calls the rest unrecognized
        (`images pin --upgrade almalinux`; https://docs.python.org/3/library/argparse.html#intermixed-parsing).
        """
        found, rest = super().parse_known_args(args, namespace)
        last = next((action for action in reversed(self._actions) if not action.option_strings), None)
        if last is None or last.nargs != "*" or any(word.startswith("-") for word in rest):
            return found, rest
        convert = last.type if callable(last.type) else str
        setattr(found, last.dest, [*getattr(found, last.dest), *map(convert, rest)])
        return found, []


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every verb has."""
    parser.add_argument(
        "--matrix",
        type=named_path,
        default=DEFAULT_MATRIX,
        metavar="FILE",
        help="the build matrix (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=named_path, default=DEFAULT_OUT, metavar="DIR", help="the output folder (default: %(default)s)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only units whose id matches this shell pattern; may be given several times",
    )
    parser.add_argument(
        "--json", action="store_true", help="print exactly one JSON document on stdout, all else on stderr"
    )
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="say every step; print the traceback of a bug")
    loudness.add_argument("-q", "--quiet", action="store_true", help="say only what failed, and the result")


def add_toolchain(parser: argparse.ArgumentParser) -> None:
    """Add ``--toolchain``."""
    parser.add_argument(
        "--toolchain",
        metavar="RECIPE",
        help="build every ROCm with this toolchain, whatever the matrix says: llvm, hipcc, a recipe of ours or ./path",
    )


def add_building(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that build."""
    add_toolchain(parser)
    parser.add_argument(
        "--engine",
        choices=("auto", "host", "docker"),
        default="auto",
        help="where toolchains run; auto: images in docker, llvm and hipcc on this machine (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what the build of a unit may use: time=SECONDS (default 3600), and in a container memory=SIZE, cpus=N, "
        "processes=N, disk=SIZE; may be given several times",
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the container of a failed build running, and say how to enter it"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="units built at the same time (default: the cores this process may use, %(default)s)",
    )


def add_reuse(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that may reuse earlier results."""
    parser.add_argument("--no-cache", action="store_true", help="do everything anew, reuse no earlier result")
    parser.add_argument("--explain", action="store_true", help="say why each unit was done or reused")


def add_checking(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that check numbers."""
    _add_cases(parser)
    _add_gpu(parser)


def _add_cases(parser: argparse.ArgumentParser) -> None:
    """Add what executes the cases, which of them, and on which inputs."""
    parser.add_argument(
        "--on",
        choices=("auto", "emulator", "gpu"),
        default="auto",
        help="what executes the kernels; auto says what it chose (default: %(default)s)",
    )
    parser.add_argument(
        "--budget",
        type=budget,
        default=argparse.SUPPRESS,
        metavar="GFLOP",
        help="floating-point work of the cases that run, in 10^9 operations, or `all`; the rest is named "
        "(default: 10 on the emulator, all on a GPU)",
    )
    parser.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="N",
        help="where random inputs and orders of waves begin; 0: the seeds that the cases have (default: %(default)s)",
    )
    parser.add_argument(
        "--device",
        default=argparse.SUPPRESS,
        metavar="PROFILE",
        help="the device that is emulated: mi300x, mi300a, mi308x or mi300x-cpx (default: mi300x)",
    )


def _add_gpu(parser: argparse.ArgumentParser) -> None:
    """Add what only a check on a GPU has."""
    parser.add_argument(
        "--gpu",
        type=whole,
        default=None,
        metavar="N",
        help="on a GPU: which of the visible ones, from 0 (default: the first)",
    )
    parser.add_argument(
        "--image",
        type=image_name,
        default=None,
        metavar="NAME",
        help="on a GPU: the image with a torch for ROCm that cases run in (default: check.images of the matrix)",
    )


def pipeline_options(arguments: argparse.Namespace) -> pipeline.Options:
    """Return what was asked for as the pipeline takes it; options that a verb does not have keep their defaults."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them

    return pipeline.Options(
        matrix=arguments.matrix,
        out=arguments.out,
        only=tuple(arguments.only),
        toolchain=getattr(arguments, "toolchain", None),
        engine=_engine_choice(arguments),
        jobs=getattr(arguments, "jobs", 1),
        use_cache=not getattr(arguments, "no_cache", False),
        check=_check_options(arguments),
        torches=tuple(getattr(arguments, "torch", None) or ()),
    )


def _engine_choice(arguments: argparse.Namespace) -> EngineChoice:
    from rocmatrix.engine.limits import parse_limits  # noqa: PLC0415 - as above
    from rocmatrix.toolchain.engines import EngineChoice  # noqa: PLC0415

    return EngineChoice(
        name=getattr(arguments, "engine", "auto"),
        limits=parse_limits(getattr(arguments, "limit", ())),
        keep=getattr(arguments, "keep", False),
    )


def _check_options(arguments: argparse.Namespace) -> CheckOptions:
    from rocmatrix.check.options import CheckOptions, On  # noqa: PLC0415 - as above

    plain = CheckOptions()
    _require_meant(arguments)
    return CheckOptions(
        on=On(getattr(arguments, "on", plain.on)),
        budget=getattr(arguments, "budget", plain.budget),
        seed=getattr(arguments, "seed", plain.seed),
        device=getattr(arguments, "device", plain.device),
        gpu=getattr(arguments, "gpu", plain.gpu),
        image=getattr(arguments, "image", plain.image),
        gpu_budget=getattr(arguments, "budget", plain.gpu_budget),
    )


def _require_meant(arguments: argparse.Namespace) -> None:
    """Refuse options that speak of what is not asked to execute the kernels; ``auto`` may choose either.

    Raises:
        UsageError: such an option is given.
    """
    on = getattr(arguments, "on", "auto")
    without_meaning = {"emulator": ("gpu", "image"), "gpu": ("device",)}.get(on, ())
    for name in without_meaning:
        if getattr(arguments, name, None) is not None:
            raise UsageError(
                f"--{name} has no meaning with --on {on}", fix=f"Leave out --{name}, or choose another --on."
            )


def named_path(text: str) -> Path:
    """Return a path; an empty one, which a shell makes of a variable that is not set, is none.

    Raises:
        argparse.ArgumentTypeError: the text is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("a path is needed, and it is empty")
    return Path(text)


def positive(text: str) -> int:
    """Return a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is not one.
    """
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value
