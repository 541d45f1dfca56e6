"""How a verb ends that has one result: for people, or one JSON document and beside it what people read.

Verbs import this module when they are executed, not before: it brings in rich.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from rich.console import Console

from rocmatrix.report.console import make_console
from rocmatrix.report.documents import write_document


def tell(arguments: argparse.Namespace, document: object, show: Callable[[Console], None]) -> None:
    """Write the document on stdout where ``--json`` asks for it; show the result on the other stream, or on stdout."""
    if arguments.json:
        write_document(document, sys.stdout)
    show(make_console(sys.stderr if arguments.json else sys.stdout))
