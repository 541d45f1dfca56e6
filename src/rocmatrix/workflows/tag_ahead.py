"""The tag of a release, looked at before anything is built for it: the job that releases comes hours later."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.release.source_tag import read_tag, require_tag_of_checkout
from rocmatrix.releasing.publish import kernel_of


def read_tag_ahead(plan: Plan, tag: str) -> PlannedKernel:
    """Return the kernel that a tag is to release.

    Raises:
        InputError: the tag is none of a release of this plan.
    """
    kernel = kernel_of(plan, tag)
    try:
        read_tag(tag, kernel, several=len(plan.kernels) > 1)
    except ReleaseError as err:
        raise _ahead(err) from err
    return kernel


def require_tag_ahead(plan: Plan, tag: str, project: Path, *, may_lack: bool = False) -> None:
    """Refuse a tag that a release of what is checked out would refuse.

    Args:
        plan: what is to be built.
        tag: the tag.
        project: a folder of the repository of the sources.
        may_lack: whether it is well that there is no such tag yet.

    Raises:
        InputError: the tag is none of a release of this plan, is not there or not annotated, or another commit is
            checked out.
        MissingRequirementError: git is not there.
    """
    release = read_tag(tag, read_tag_ahead(plan, tag), several=len(plan.kernels) > 1)
    try:
        require_tag_of_checkout(release, project, may_lack=may_lack)
    except ReleaseError as err:
        raise _ahead(err) from err


def _ahead(err: ReleaseError) -> InputError:
    """Return the refusal as one of the input: nothing was begun."""
    return InputError(err.what, where=err.where, fix=err.fix)
