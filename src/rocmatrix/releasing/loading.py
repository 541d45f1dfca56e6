"""Whether published variants still load: the real client imports each stable-ABI one in a Python of the user's choice.

What "loads" means without a GPU: every library and every symbol of the variant is found at once (``LD_BIND_NOW``), its
operators are registered with that torch, and its Python code runs. No kernel is launched. Where the machine has no HIP
runtime, a stand-in of rocmatrix has the calls and executes nothing; where torch is a build without ROCm, it is told to
say that it has the variant's.

Importing runs the kernel's code. It happens in a process of its own for each variant, with no credential, no variables
and no home of the caller; and for variants alone whose audit found no fault.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix import document
from rocmatrix.audit.published import PublishedAudit
from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import ElfFacts, UnreadableError
from rocmatrix.document import DocumentError
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.needs import HIP_LIBRARY, exports
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import Emit, Notice
from rocmatrix.input_file import read_input
from rocmatrix.plan.model import Abi
from rocmatrix.plan.text import quote
from rocmatrix.plan.variants import parse_variant
from rocmatrix.records import Outcome
from rocmatrix.releasing import load_process
from rocmatrix.releasing.load_model import Loaded, LoadedKernel, LoadReport, LoadState

_FETCH_SECONDS, _LOAD_SECONDS = 900.0, 300.0
_LARGEST_RESULT = 4 << 20
"""Bytes of what a process leaves that are read: code of a kernel may have written it."""

_SHOWN = 1500
"""Characters of what a process said last."""

_PASSED_ON = ("HF_ENDPOINT", "HF_TOKEN", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_ONLY_WITH_ROCM = frozenset({"libtorch_hip.so", "libc10_hip.so"})
"""Libraries that a torch without ROCm does not have."""

_INSTALL = "Install into it, on any index: torch, and kernels==0.17.2."


@dataclass(frozen=True, kw_only=True)
class _Fetched:
    """What the client did for one variant: the folder it chose, or what it said."""

    variant: str
    path: str | None = None
    error: str | None = None
    rejected: bool = False
    other_rocm: bool = False


@dataclass(frozen=True, kw_only=True)
class _Environment:
    """What the asked Python has, and what its client fetched."""

    python: str
    torch: str
    hip: str | None
    client: str
    fetched: tuple[_Fetched, ...]


@dataclass(frozen=True, kw_only=True)
class _Import:
    """What an import came to."""

    hip: str
    error: str | None = None
    file: str = ""
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """What the shared objects of a variant ask for: the HIP runtime's name, further libraries, calls of HIP."""

    soname: str | None
    libraries: frozenset[str]
    calls: frozenset[str]


def load_published(audited: PublishedAudit, python: Path, *, cache: Path, emit: Emit) -> LoadedKernel:
    """Import each stable-ABI variant for ROCm of a kernel that was audited.

    Args:
        audited: the audit; the very commit that it names is fetched anew by the client.
        python: an interpreter with torch and the client.
        cache: folder for stand-ins.
        emit: told what happens.

    Raises:
        InputError: there is no such variant, or none that is for this torch.
        MissingRequirementError: the interpreter lacks torch or the client, or the Hub does not answer.
    """
    program = find_python(python)
    outcomes = {Path(one.path).name: one.outcome for one in audited.audits}
    wanted = {name: f"{rocm}.0" for name in outcomes if (rocm := _rocm_of_stable(name))}
    if not wanted:
        fix = "Only variants bound to torch's stable ABI are for torches that come later."
        raise InputError("it has no stable-ABI variant for ROCm on x86-64", where=audited.path, fix=fix)
    sound = {name: hip for name, hip in wanted.items() if outcomes[name] is Outcome.PASSED}
    with tempfile.TemporaryDirectory(prefix="rocmatrix-load-") as name:
        loader = _Loader(program, Path(name), cache, emit)
        there = loader.fetch(audited.repo, audited.commit, sound)
        loads = {each.variant: loader.load(each, sound[each.variant], there) for each in there.fetched}
    if sound and all(each.state is LoadState.PASSED_OVER for each in loads.values()):
        why = "; ".join(f"{each.variant}: {each.said}" for each in loads.values())
        raise InputError(f"none of its variants is for this torch: {why}", where=audited.path)
    unsound = {
        name: _left(name, LoadState.PASSED_OVER, "its audit failed: nothing of it is run")
        for name in wanted.keys() - loads.keys()
    }
    report = LoadReport(
        python=there.python,
        torch=there.torch,
        rocm=there.hip,
        client=there.client,
        variants=tuple(each for _, each in sorted((loads | unsound).items())),
    )
    return _with(audited, report)


def _with(audited: PublishedAudit, report: LoadReport) -> LoadedKernel:
    """Return an audit with what came of the imports; it has not passed if one failed."""
    failed = audited.outcome is Outcome.FAILED or report.in_state(LoadState.FAILED)
    return LoadedKernel(
        path=audited.path,
        outcome=Outcome.FAILED if failed else Outcome.PASSED,
        audits=audited.audits,
        repo=audited.repo,
        revision=audited.revision,
        commit=audited.commit,
        received=audited.received,
        load=report,
    )


class _Loader:
    """Processes of one interpreter, and the folder that they work in."""

    def __init__(self, python: str, folder: Path, cache: Path, emit: Emit) -> None:
        """Begin with nothing fetched."""
        self._python, self._folder, self._emit = python, folder, emit
        self._engine = HostEngine()
        self._compiler: Callable[[], RuntimeCompiler] = lambda: RuntimeCompiler(engine=self._engine, cache=cache)

    def fetch(self, repository: str, commit: str, variants: Mapping[str, str]) -> _Environment:
        """Let the client fetch what it chooses on this torch for each variant's ROCm."""
        job = {"repository": repository, "commit": commit, "variants": dict(variants)}
        kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.lower() in _PROXIES}
        variables = {**kept, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        text, said = self._run("fetch", job, variables, _FETCH_SECONDS)
        if text is None:
            what = f"the client cannot be asked by {self._python}: {said}"
            raise MissingRequirementError(what, where="--load", fix=_INSTALL)
        try:
            there = document.from_json(text, _Environment)
        except DocumentError as err:
            what = f"what {self._python} said of the client cannot be read: {err}"
            raise MissingRequirementError(what, where="--load", fix=_INSTALL) from err
        for each in there.fetched:
            if each.error and not each.rejected:
                fix = "Check the network and HF_ENDPOINT, then run again."
                raise MissingRequirementError(f"the client: {each.error[:_SHOWN]}", where=repository, fix=fix)
        own = f"ROCm {there.hip}" if there.hip else "no ROCm of its own"
        self._emit(Notice(level="info", message=f"torch {there.torch}, {own}, kernels {there.client}", where="--load"))
        return there

    def load(self, fetched: _Fetched, hip: str, there: _Environment) -> Loaded:
        """Import one variant, unless it is none for this torch or this machine lacks what it needs."""
        name = fetched.variant
        if fetched.other_rocm:
            return _left(name, LoadState.PASSED_OVER, f"this torch is of ROCm {there.hip}")
        if fetched.path is None:
            return _left(name, LoadState.FAILED, f"the client rejects it: {fetched.error}")
        folder = Path(fetched.path)
        if folder.name != name:
            return _left(name, LoadState.PASSED_OVER, f"on this torch the client takes {folder.name} instead")
        needs = _needs(folder)
        absent = sorted(needs.libraries & _ONLY_WITH_ROCM) if there.hip is None else []
        if absent:
            return _left(name, LoadState.UNDECIDED, f"it needs {', '.join(absent)}, which a torch without ROCm lacks")
        stand_in = None
        if needs.soname and there.hip is None:
            stand_in = self._compiler().hip(needs.soname)
            if strange := sorted(needs.calls - exports(stand_in)):
                said = f"it calls {', '.join(strange)} of HIP, which the stand-in lacks"
                return _left(name, LoadState.UNDECIDED, said)
        return self._import(name, folder, hip, needs.soname, stand_in)

    def _import(self, name: str, folder: Path, hip: str, soname: str | None, stand_in: Path | None) -> Loaded:
        snapshot = folder.parent.parent
        job = {"snapshot": str(snapshot), "hip": hip, "soname": soname, "stand_in": stand_in and str(stand_in)}
        offline = {"HF_HUB_OFFLINE": "1", "LD_BIND_NOW": "1"}
        text, said = self._run("load", job, offline, _LOAD_SECONDS)
        if text is None:
            return _left(name, LoadState.FAILED, f"the process that imported it ended: {said}")
        try:
            found = document.from_json(text, _Import)
        except DocumentError as err:  # the kernel's own code ran in the process that wrote it
            return _left(name, LoadState.FAILED, f"what its import left cannot be read: {err}"[:_SHOWN])
        if found.error is not None:
            return Loaded(variant=name, state=LoadState.FAILED, said=found.error[:_SHOWN], hip=found.hip)
        if folder not in Path(found.file).parents:
            return _left(name, LoadState.FAILED, f"the client imported {found.file} in its place")
        return Loaded(variant=name, state=LoadState.LOADED, hip=found.hip, operators=found.operators)

    def _run(
        self, what: str, job: Mapping[str, object], variables: dict[str, str], seconds: float
    ) -> tuple[bytes | None, str]:
        """Run the process; return what it wrote, or ``None`` and what it said last."""
        place, result = self._folder / f"{what}.json", self._folder / f"{what}-result.json"
        result.unlink(missing_ok=True)
        place.write_text(json.dumps({**job, "result": str(result)}), encoding="utf-8")
        hub = {"HF_HOME": str(self._folder / "hub")}
        argv = (self._python, "-I", str(Path(load_process.__file__)), what, str(place))
        command = Command(argv=argv, cwd=self._folder, environment={**hub, **variables}, timeout=seconds)
        done = self._engine.run(command)
        if done.returncode == 0 and result.is_file():
            try:
                return read_input(result, largest=_LARGEST_RESULT), ""
            except InputError as err:
                return None, f"what it left cannot be used: {err.what}"
        if done.returncode is None:
            return None, f"it was not done in {seconds:.0f} s"
        lines = done.output.strip()[-_SHOWN:].splitlines()
        return None, f"exit status {done.returncode}: {' '.join(lines[-3:])}"


def find_python(python: Path) -> str:
    """Return the path of an interpreter that was named by its path, or as a program of PATH.

    Raises:
        InputError: there is no such program.
    """
    found = shutil.which(str(python))
    if found is None:
        raise InputError(
            f"{quote(str(python))} is no program", where="--load", fix="Name a Python that has torch and kernels."
        )
    return str(Path(found).absolute())


def _rocm_of_stable(name: str) -> str | None:
    try:
        variant = parse_variant(name)
    except ValueError:
        return None
    return variant.rocm if variant.abi is Abi.STABLE and variant.cpu == "x86_64" else None


def _needs(folder: Path) -> _Needs:
    elves = list(_shared_objects(folder))
    libraries = frozenset(name for elf in elves for name in elf.needed)
    calls = {symbol.name for elf in elves for symbol in elf.symbols if not symbol.defined}
    return _Needs(
        soname=next((name for name in sorted(libraries) if HIP_LIBRARY.fullmatch(name)), None),
        libraries=libraries,
        calls=frozenset(name for name in calls if name.startswith(("hip", "__hip"))),
    )


def _shared_objects(folder: Path) -> Iterator[ElfFacts]:
    for path in sorted(folder.rglob("*.so")):
        try:
            yield read_shared_object(path.read_bytes())[1]
        except UnreadableError as err:
            raise InputError(str(err), where=path.name, fix="Do not use it.") from err


def _left(variant: str, state: LoadState, said: str) -> Loaded:
    return Loaded(variant=variant, state=state, said=said)
