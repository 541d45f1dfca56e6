"""What a user gets of a published kernel."""

from __future__ import annotations

from rocmatrix.errors import InputError
from rocmatrix.plan.text import quote
from rocmatrix.plan.version import is_minor
from rocmatrix.release.resolver import Machine
from rocmatrix.release.view import glance
from rocmatrix.release.why import Explanation, explain
from rocmatrix.releasing.hubs import open_hub
from rocmatrix.releasing.transport import Transport


def why(
    repository: str, *, torch: str, rocm: str, arch: str | None, hub: str | None, transport: Transport = Transport.API
) -> Explanation:
    """Return what a user of a machine gets of a published kernel; a token is used if there is one, and not needed.

    Args:
        repository: ``owner/name``, and after ``@`` a version, a branch, a tag or a commit.
        torch: torch minor of the machine.
        rocm: its ROCm minor.
        arch: its gfx arch.
        hub: as in ``Options``.
        transport: as in ``Options``.

    Raises:
        RocmatrixError: there is no such thing, or the Hub does not answer.
    """
    for name, value in (("--torch", torch), ("--rocm", rocm)):
        if not is_minor(value):
            raise InputError(f"{quote(value)} is no minor version", where=name, fix='Write two numbers, as "2.13".')
    name, mark, revision = repository.partition("@")
    if name.count("/") != 1 or not all(name.split("/")) or (mark and not revision) or not repository.isprintable():
        raise InputError(f"{quote(repository)} names no kernel", fix="Write owner/name, or owner/name@revision.")
    with open_hub(hub, name, transport) as there:
        return explain(glance(there, name), Machine(torch=torch, rocm=rocm), revision=revision or None, arch=arch)
