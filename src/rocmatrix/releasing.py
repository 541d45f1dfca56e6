"""From collected variants to a Hub: what the verbs ``release`` and ``rehearse`` do, in order."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import platformdirs

from rocmatrix.errors import InputError, MissingRequirementError, ReleaseError
from rocmatrix.events import Emit
from rocmatrix.input_file import read_input
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.plan.text import quote
from rocmatrix.plan.version import is_minor
from rocmatrix.release.credentials import Credential, find_credential
from rocmatrix.release.gates import Allowances
from rocmatrix.release.persistence import Patience, Persistence, SystemClock
from rocmatrix.release.publication import Wanted
from rocmatrix.release.resolver import Machine
from rocmatrix.release.serving import Pair
from rocmatrix.release.stage import Request, prepare, publish
from rocmatrix.release.users import Got, Published, ask_client
from rocmatrix.release.view import View
from rocmatrix.release.why import Explanation, explain
from rocmatrix.store import Store

EMBEDDED = "embedded"


class Outcome(StrEnum):
    """How a release ended."""

    RELEASED = "released"
    ALREADY = "already released"
    DRY_RUN = "dry run"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a release was asked to do.

    Attributes:
        matrix: path of matrix.yaml.
        out: the output folder.
        tag: of the sources.
        hub: address of the Hub; ``embedded`` for one that is started for this command; ``None`` for the client's own.
        dry_run: look at everything, write nothing.
        untested: whether variants that nothing executed may be released.
        drop: torch and ROCm pairs that earlier users may lose, as ``torch2.12-rocm7.1``.
    """

    matrix: Path
    out: Path
    tag: str
    hub: str | None = None
    dry_run: bool = False
    untested: bool = False
    drop: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a release came to.

    Attributes:
        kernel: which one.
        repository: on the Hub.
        hub: its address.
        tag: on the Hub.
        commit: that it points at; ``None`` for a dry run.
        outcome: how it ended.
        variants: names of what was published.
        size: bytes of all files together.
        credential: where the credential came from.
    """

    kernel: str
    repository: str
    hub: str
    tag: str
    commit: str | None
    outcome: Outcome
    variants: tuple[str, ...]
    size: int
    credential: str


def release(options: Options, emit: Emit) -> Result:
    """Publish the kernel that a tag names, from the output folder.

    Raises:
        RocmatrixError: it is refused, or failed; the message says which, and that nothing or everything is there.
    """
    store = Store(options.out)
    with store.exclusive():
        plan = store.read_plan()
        kernel = _kernel(plan, options.tag)
        with _hub(options, kernel) as (endpoint, credential):
            wanted = prepare(_request(options, plan, kernel, credential), store)
            if options.dry_run:
                return _result(wanted, endpoint, credential, commit=None, outcome=Outcome.DRY_RUN)
            from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415 - a heavy client

            limit_requests()
            hub = ApiHub(endpoint, credential)
            released = publish(wanted, hub, store=store, emit=emit, credential=credential.source)
            outcome = Outcome.ALREADY if released.already else Outcome.RELEASED
            return _result(wanted, endpoint, credential, commit=released.commit, outcome=outcome)


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
        RocmatrixError: the release failed.
    """
    from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415 - a heavy client

    store, objections = Store(options.out), list[str]()

    def note(objection: ReleaseError) -> None:
        objections.append(str(objection).replace("\n  ", " "))

    with store.exclusive(), tempfile.TemporaryDirectory(prefix="rocmatrix-rehearsal-") as folder:
        plan = store.read_plan()
        kernel = _kernel(plan, options.tag)
        with embedded(kernel.repo_id.partition("/")[0], Path(folder)) as (endpoint, credential):
            wanted = prepare(_request(options, plan, kernel, credential), store, object_to=note)
            limit_requests()
            hub = ApiHub(endpoint, credential)
            released = publish(wanted, hub, store=store, emit=emit, credential=credential.source, keep_journal=False)
            result = _result(wanted, endpoint, credential, commit=released.commit, outcome=Outcome.RELEASED)
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


def why(repository: str, *, torch: str, rocm: str, arch: str | None, hub: str | None) -> Explanation:
    """Return what a user of a machine gets of a published kernel; a token is used if there is one, and not needed.

    Args:
        repository: ``owner/name``, and after ``@`` a version, a branch, a tag or a commit.
        torch: torch minor of the machine.
        rocm: its ROCm minor.
        arch: its gfx arch.
        hub: as in ``Options``.

    Raises:
        RocmatrixError: there is no such thing, or the Hub does not answer.
    """
    from huggingface_hub import constants, get_token  # noqa: PLC0415 - a heavy client

    from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415

    for name, value in (("--torch", torch), ("--rocm", rocm)):
        if not is_minor(value):
            raise InputError(f"{quote(value)} is no minor version", where=name, fix='Write two numbers, as "2.13".')
    name, mark, revision = repository.partition("@")
    if name.count("/") != 1 or not all(name.split("/")) or (mark and not revision):
        raise InputError(f"{quote(repository)} names no kernel", fix="Write owner/name, or owner/name@revision.")
    limit_requests()
    persistence = Persistence(SystemClock(), Patience(attempts=3), lambda _: None)
    with _address(hub or constants.ENDPOINT, name) as (endpoint, own):
        credential = own or Credential(token=get_token(), source="the client's")
        view = View(hub=ApiHub(endpoint, credential), persistence=persistence, repository=name)
        return explain(view, Machine(torch=torch, rocm=rocm), revision=revision or None, arch=arch)


def _kernel(plan: Plan, tag: str) -> PlannedKernel:
    """Return the kernel that a tag is about: the only one, or the one that it begins with.

    Raises:
        InputError: it names none.
    """
    if len(plan.kernels) == 1:
        return plan.kernels[0]
    named = [kernel for kernel in plan.kernels if tag.startswith(f"{kernel.name}-v")]
    if not named:
        names = ", ".join(f"{kernel.name}-v{kernel.version}.Y.Z" for kernel in plan.kernels)
        raise InputError(f"{quote(tag)} names no kernel of this matrix", where="--tag", fix=f"Tags are {names}.")
    return max(named, key=lambda kernel: len(kernel.name))


def _request(options: Options, plan: Plan, kernel: PlannedKernel, credential: Credential) -> Request:
    matrix = parse_matrix(read_input(options.matrix), str(options.matrix))
    project = options.matrix.absolute().parent / kernel.path
    manifest_path = project / "build.toml"
    return Request(
        tag=options.tag,
        kernel=kernel,
        manifest=parse_manifest(read_input(manifest_path), str(manifest_path)),
        project=project,
        plan=plan,
        compat=load_compat(),
        allowances=Allowances(
            toolchains=frozenset(matrix.allow_toolchains),
            untested=options.untested,
            host_builds=matrix.allow_host_builds,
            drop=frozenset(options.drop),
        ),
        credential=credential.source,
    )


def _result(wanted: Wanted, endpoint: str, credential: Credential, *, commit: str | None, outcome: Outcome) -> Result:
    content = wanted.expectations.content
    return Result(
        kernel=content.kernel.name,
        repository=content.kernel.repo_id,
        hub=endpoint,
        tag=wanted.release.tag,
        commit=commit,
        outcome=outcome,
        variants=content.variants,
        size=content.size,
        credential=credential.source,
    )


# -- which Hub -----------------------------------------------------------------------------------------------------


@contextmanager
def _hub(options: Options, kernel: PlannedKernel) -> Iterator[tuple[str, Credential]]:
    """Yield the address of the Hub and the credential for it."""
    from huggingface_hub import constants  # noqa: PLC0415 - a heavy client

    with _address(options.hub or constants.ENDPOINT, kernel.repo_id) as (endpoint, own):
        anonymous = Credential(token=None, source="none")
        yield endpoint, own or (anonymous if options.dry_run else find_credential())


@contextmanager
def _address(hub: str, repository: str) -> Iterator[tuple[str, Credential | None]]:
    """Yield the address of a Hub; an embedded one runs while the block does, and comes with its own credential.

    Raises:
        InputError: it is no address.
    """
    if hub == EMBEDDED:
        with embedded(repository.partition("/")[0], embedded_folder()) as started:
            yield started
    elif hub.startswith(("http://", "https://")):
        yield hub.rstrip("/"), None
    else:
        raise InputError(f"{quote(hub)} is no address of a Hub", where="--hub", fix="Give http(s)://… or `embedded`.")


@contextmanager
def embedded(namespace: str, folder: Path) -> Iterator[tuple[str, Credential]]:
    """Run an embedded Hub over a folder, whose only user owns a namespace.

    Raises:
        MissingRequirementError: the extra ``hub`` is not installed.
    """
    try:
        from rocmatrix.hubserver.accounts import Accounts, User  # noqa: PLC0415 - an extra
        from rocmatrix.hubserver.app import make_app  # noqa: PLC0415
        from rocmatrix.hubserver.hub import Hub  # noqa: PLC0415
        from rocmatrix.hubserver.server import running  # noqa: PLC0415
        from rocmatrix.hubserver.token import token_of  # noqa: PLC0415
    except ImportError as err:
        raise MissingRequirementError(
            f"the embedded Hub needs the package {err.name}", fix="Install it with: pip install 'rocmatrix[hub]'"
        ) from err
    token, source = token_of(folder)
    hub = Hub(folder, Accounts((User(name="author", token=token, organizations=(namespace,)),)))
    try:
        with running(make_app(hub)) as server:
            yield server.endpoint, Credential(token=token, source=source)
    finally:
        hub.close()


def embedded_folder() -> Path:
    """Return where the embedded Hub keeps its repositories: ``ROCMATRIX_HUB``, or the system's place for data."""
    named = os.environ.get("ROCMATRIX_HUB")
    return Path(named).absolute() if named else platformdirs.user_data_path("rocmatrix") / "hub"
