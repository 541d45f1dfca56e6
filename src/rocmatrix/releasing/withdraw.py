"""Withdrawing a release from a Hub."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.events import Emit, Notice
from rocmatrix.release.credentials import find_credential
from rocmatrix.release.persistence import Patience, Persistence, SystemClock
from rocmatrix.release.view import View
from rocmatrix.release.withdrawal import Withdrawn, withdraw
from rocmatrix.releasing.hubs import address_of
from rocmatrix.releasing.publish import kernel_of
from rocmatrix.store import Store


def yank(tag: str, reason: str, *, out: Path, hub: str | None, emit: Emit) -> Withdrawn:
    """Withdraw a release of the kernel that a tag names.

    Args:
        tag: of the sources, as the release was made from it.
        reason: for the card.
        out: the output folder, whose plan names the repository.
        hub: as in ``Options``.
        emit: takes a sentence for each step.

    Raises:
        RocmatrixError: there is no such release, or the Hub does not allow it or does not answer.
    """
    from huggingface_hub import constants  # noqa: PLC0415 - a heavy client

    from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415

    kernel = kernel_of(Store(out).read_plan(), tag)

    def tell(message: str) -> None:
        emit(Notice(level="info", message=message, where=kernel.name))

    limit_requests()
    with address_of(hub or constants.ENDPOINT, kernel.repo_id) as (endpoint, own):
        api = ApiHub(endpoint, own or find_credential(endpoint))
        persistence = Persistence(SystemClock(), Patience(), tell)
        view = View(hub=api, persistence=persistence, repository=kernel.repo_id)
        return withdraw(view, kernel, tag.removeprefix(f"{kernel.name}-"), reason, tell)
