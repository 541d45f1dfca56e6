"""From the output folder to every promised user, on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import ReleaseError
from rocmatrix.events import Emit
from rocmatrix.release.serving import Pair
from rocmatrix.release.stage import prepare, publish
from rocmatrix.release.users import Got, Published, ask_client
from rocmatrix.releasing.hubs import embedded
from rocmatrix.releasing.model import Options, Outcome, Result
from rocmatrix.releasing.publish import kernel_of, request_of, result_of
from rocmatrix.store import Store


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a rehearsal came to.

    Attributes:
        result: of the release, on a Hub that is gone again.
        users: what the client did on every machine that is promised a variant.
        wanted: cell -> the variant that was made for it.
        objections: what would stand in the way of a real release.
    """

    result: Result
    users: tuple[Got, ...]
    wanted: Mapping[str, str]
    objections: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every user got what was made for them."""
        return all(got.variant == self.wanted[f"torch{got.torch}-rocm{got.rocm}"] for got in self.users)


def rehearse(options: Options, emit: Emit) -> Rehearsal:
    """Publish the output folder on a Hub of its own, and let the real client download it on every promised machine.

    What would stop a real release (a missing tag, changed files, a toolchain that is not allowed) is said and does not
    stop a rehearsal.

    Raises:
        RocmatrixError: the set is not complete, or the release failed.
    """
    from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415 - a heavy client

    store, objections = Store(options.out), list[str]()

    def note(objection: ReleaseError) -> None:
        objections.append(str(objection).replace("\n  ", " "))

    with store.exclusive(), tempfile.TemporaryDirectory(prefix="rocmatrix-rehearsal-") as folder:
        plan = store.read_plan()
        kernel = kernel_of(plan, options.tag)
        with embedded(kernel.repo_id.partition("/")[0], Path(folder)) as (endpoint, credential):
            wanted = prepare(request_of(options, plan, kernel, credential), store, object_to=note)
            limit_requests()
            hub = ApiHub(endpoint, credential)
            released = publish(wanted, hub, store=store, emit=emit, credential=credential.source, keep_journal=False)
            result = result_of(wanted, endpoint, credential, commit=released.commit, outcome=Outcome.RELEASED)
            promised = {
                f"torch{cell.torch}-rocm{cell.rocm}": cell
                for cell in plan.cells
                if cell.kernel == kernel.name and cell.unit is not None
            }
            machines = [Pair(torch=cell.torch, rocm=cell.rocm) for cell in promised.values()]
            revision = wanted.release.tag if wanted.release.preliminary else None
            version = None if revision else wanted.release.major
            published = Published(endpoint=endpoint, repository=kernel.repo_id, version=version, revision=revision)
            users = ask_client(published, machines)
    made = {pair: plan.unit(cell.unit).variant for pair, cell in promised.items() if cell.unit}
    return Rehearsal(result=result, users=users, wanted=made, objections=tuple(objections))
