"""Progress on stderr, as loud as ``-v`` and ``-q`` ask for.

Verbs import this module when they are executed, not before: it brings in rich.
"""

from __future__ import annotations

import argparse
import sys

from rocmatrix.report.console import make_console
from rocmatrix.report.reporter import Reporter, Verbosity, make_reporter


def reporter_of(arguments: argparse.Namespace) -> Reporter:
    """Return what follows the work of a verb; ``quiet`` and ``verbose`` count."""
    return make_reporter(make_console(sys.stderr), _verbosity(arguments))


def _verbosity(arguments: argparse.Namespace) -> Verbosity:
    if arguments.quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if arguments.verbose else Verbosity.NORMAL
