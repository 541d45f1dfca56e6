"""Withdrawing a release from a Hub."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.events import Emit, Notice
from rocmatrix.release.view import patient_view
from rocmatrix.release.withdrawal import Withdrawn, withdraw
from rocmatrix.releasing.hubs import changing_hub
from rocmatrix.releasing.publish import kernel_of
from rocmatrix.releasing.transport import Transport
from rocmatrix.store import Store


def yank(
    tag: str, reason: str, *, out: Path, hub: str | None, emit: Emit, transport: Transport = Transport.API
) -> Withdrawn:
    """Withdraw a release of the kernel that a tag names.

    Args:
        tag: of the sources, as the release was made from it.
        reason: for the card.
        out: the output folder, whose plan names the repository.
        hub: as in ``Options``.
        emit: takes a sentence for each step.
        transport: as in ``Options``.

    Raises:
        RocmatrixError: there is no such release, or the Hub does not allow it or does not answer.
    """
    kernel = kernel_of(Store(out).read_plan(), tag)

    def tell(message: str) -> None:
        emit(Notice(level="info", message=message, where=kernel.name))

    with changing_hub(hub, kernel.repo_id, transport) as (there, _):
        view = patient_view(there, kernel.repo_id, tell=tell)
        return withdraw(view, kernel, tag.removeprefix(f"{kernel.name}-"), reason, tell)
