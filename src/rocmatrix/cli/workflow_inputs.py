"""What the reusable workflow was called with, judged by its first job: what cannot end well is not begun."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocmatrix.cli.options import UsageError

if TYPE_CHECKING:
    from rocmatrix.plan.model import Plan

_RELEASE = "release"
MODES = ("plan", "build", "check", _RELEASE)


def add_workflow_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that hand the inputs of build-kernel.yml over."""
    parser.add_argument("--mode", choices=MODES, help="how far the workflow is to go")
    parser.add_argument("--tag", metavar="TAG", help="the tag that the workflow is to release; needed by mode release")


def require_tag(arguments: argparse.Namespace, plan: Plan) -> None:
    """Refuse a release of a tag that names no kernel of the plan in its version: the job `release` comes hours later.

    Raises:
        UsageError: there is no tag, or none of these kernels is released by it.
    """
    if arguments.mode != _RELEASE:
        return
    several = len(plan.kernels) > 1
    beginnings = [f"{kernel.name}-v{kernel.version}." if several else f"v{kernel.version}." for kernel in plan.kernels]
    fix = f"Give the annotated tag that is released as `tag`: {', '.join(f'{each}Y.Z' for each in beginnings)}."
    if not arguments.tag:
        raise UsageError("mode release needs a tag", fix=fix)
    if not arguments.tag.startswith(tuple(beginnings)):
        from rocmatrix.plan.text import quote  # noqa: PLC0415 - `--help` needs none of it

        raise UsageError(f"mode release: {quote(arguments.tag)} is no tag of a release of this matrix", fix=fix)
