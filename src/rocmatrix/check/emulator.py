"""The executor ``emulator``: numerical cases through the real launcher of the built binary, its launches emulated.

Binary and cases run in processes of their own, confined like a build: a scrubbed environment, copies, a time limit. A
process that a binary takes down is a failed case with the name of the signal, and the rest goes on in another one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import metadata
from pathlib import Path

from rocmatrix import digest
from rocmatrix.cases import CaseDescription
from rocmatrix.check.budget import Choice, choose, exact_cases, varied_cases
from rocmatrix.check.confined import Place, Run, Slots, merge, run_share
from rocmatrix.check.interface import Execution, Progress, UntestableError
from rocmatrix.check.progress import Tally
from rocmatrix.digest import Digest
from rocmatrix.emulator import host as host_package
from rocmatrix.emulator.code_object import ARCH
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.emulation import mode
from rocmatrix.emulator.host.prepare import prepare
from rocmatrix.emulator.host.profiles import DEFAULT, profile
from rocmatrix.emulator.reports import ALL_DETECTORS, UnsupportedError
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.model import Unit
from rocmatrix.records import Tested

LEAST_COST = 2e6
"""What the smallest case costs: a workgroup that has next to nothing to do takes a quarter of a second."""
CASE_SECONDS = 300.0
"""Seconds that any case may take, whatever its cost; translating its kernels the first time is among them."""
SLOWEST, SLOWEST_TRANSLATED = 0.02e6, 10e6
"""Floating-point operations per second below which a case counts as stuck: a tenth and less of what was measured."""
_DECODER = "tinygrad"


class EmulatorExecutor:
    """Runs cases on the emulator; one artifact is executed once, however many units have its bytes."""

    def __init__(
        self,
        *,
        engine: Engine,
        cache: Path,
        budget: float | None,
        device: str = DEFAULT,
        seed: int = 0,
        translated: bool = False,
        case_seconds: float = CASE_SECONDS,
    ) -> None:
        """Keep what is needed.

        Args:
            engine: where the processes run.
            cache: folder that several runs share, for the compiled stand-ins.
            budget: floating-point operations of the cases that run; ``None`` for all of them.
            device: which profile the runtime plays.
            seed: what random inputs, and orders of workgroups and waves, begin with; 0 for the cases' own seeds.
            translated: whether kernels are translated to C, or interpreted by the reference.
            case_seconds: what any case may take, whatever its cost.

        Raises:
            InputError: there is no such profile.
        """
        self._cache = cache
        self._budget = budget
        self._device = device
        self._seed = seed
        self._case_seconds = case_seconds
        self._code_cache = cache / "emulator-code" if translated else None
        self._description = (
            f"{ARCH} on the emulator ({mode(self._code_cache)}; device properties of {profile(device).name})"
        )
        self._detectors = tuple(sorted(ALL_DETECTORS))
        self._slots = Slots(engine=engine, free=threading.Semaphore(_processes()))
        self._done: dict[tuple[Digest, Path], Execution] = {}
        self._locks: defaultdict[tuple[Digest, Path], threading.Lock] = defaultdict(threading.Lock)

    def identity(self, unit: Unit) -> str:
        """Return a digest of the emulator's own files, its decoder and compiler, budget, device and seed."""
        del unit  # all have the same
        return self._identity

    @cached_property
    def _identity(self) -> str:
        folder = Path(host_package.__file__).parent.parent
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        own = digest.of_named_files({path.relative_to(folder).as_posix(): path for path in files})
        packages = " ".join(f"{name} {_version(name)}" for name in (_DECODER, "ziglang"))
        chosen = (
            f"budget {self._budget} device {self._device} seed {self._seed} {mode(self._code_cache)} {self._detectors}"
        )
        return f"emulator {own} {packages} {chosen}"

    def interrupt(self) -> None:
        """Kill whatever runs and start nothing more."""
        self._slots.stopped.set()
        self._slots.engine.interrupt()

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        """Run a spread of the cases.

        Raises:
            UntestableError: the unit is for other GPUs, or needs what is not emulated.
            InputError: what was built is no shared object with code for the emulated GPU.
            CheckError: the processes said nothing that can be used.
            MissingRequirementError: the stand-ins cannot be compiled on this machine.
        """
        variant = self._variant(unit, payload)
        key = (digest.of_file(variant), tests)
        with self._locks[key]:  # a unit with the same bytes waits for the result
            if key not in self._done:
                choice = choose(cases, self._budget, least=LEAST_COST)
                self._done[key] = self._execute(variant, tests, choice, progress)
        return self._done[key]

    def _variant(self, unit: Unit, payload: Path) -> Path:
        if ARCH not in unit.archs:
            raise UntestableError(
                f"the emulator executes {ARCH}, and this unit is for {', '.join(unit.archs) or 'no GPU'}"
            )
        if _version(_DECODER) is None:
            raise UntestableError(f"the emulator needs the package {_DECODER}: pip install 'rocmatrix[emulator]'")
        found = sorted(payload.rglob("*.so"))
        if len(found) != 1:
            what = f"the emulator executes one shared object, and this unit has {len(found)}"
            raise InputError(what, where=str(payload), fix=f"Build it again: rocmatrix build --only {unit.id}")
        return found[0]

    def _execute(self, variant: Path, tests: Path, choice: Choice, progress: Progress) -> Execution:
        with tempfile.TemporaryDirectory(prefix="rocmatrix-check-", ignore_cleanup_errors=True) as folder:
            place = self._place(Path(folder), variant, tests, choice)
            shares = _shares(choice.chosen, _processes())
            tally = Tally(len(choice.chosen), progress)

            def run(number: int) -> Run:
                return run_share(self._slots, place, number, shares[number], tally.take)

            with ThreadPoolExecutor(max(1, len(shares))) as pool:
                runs = tuple(pool.map(run, range(len(shares))))
        return self._came_to(choice, merge(runs))

    def _came_to(self, choice: Choice, run: Run) -> Execution:
        """A wrong case is a result, whatever another one needs that is not emulated."""
        if run.unsupported and all(result.passed for result in run.results):
            raise UntestableError(run.unsupported)
        by_name = {result.case: result for result in run.results}
        names = [case.name for case in choice.chosen]
        total = len(choice.chosen) + len(choice.left_out)
        said = [self._description]
        if exact := sum(result.matrix == "exact" for result in run.results):
            said.append(f"exact matrix arithmetic in {exact} cases")
        if repeated := [result for result in run.results if result.repeated]:
            said.append(f"{len(repeated)} cases repeated in other orders, with late loads and at both ends of 1 ulp")
            if depend := sum(bool(result.dependences) for result in repeated):
                said.append(f"{depend} of them depend on that")
        if choice.left_out:
            said.append(f"{len(choice.left_out)} of {total} cases left out by the budget")
        if why := run.unsupported or (run.stuck and f"behind {run.stuck}, which did not end"):
            said.append(f"{len(names) - len(by_name)} of {total} cases not run: {why}")
        return Execution(
            tested=Tested.EMULATED,
            device="; ".join(said),
            results=tuple(by_name[name] for name in names if name in by_name),
            left_out=(*choice.left_out, *(name for name in names if name not in by_name)),
            profile=self._device,
            seed=self._seed,
            detectors=self._detectors,
        )

    def _place(self, folder: Path, variant: Path, tests: Path, choice: Choice) -> Place:
        slowest = SLOWEST if self._code_cache is None else SLOWEST_TRANSLATED
        try:
            libraries = prepare(variant, RuntimeCompiler(engine=self._slots.engine, cache=self._cache))
        except UnsupportedError as err:
            raise UntestableError(str(err)) from err
        except MissingRequirementError as err:
            raise UntestableError(err.what) from err
        copied = folder / "tests"
        shutil.copytree(tests, copied, ignore=shutil.ignore_patterns("__pycache__"))
        binary = folder / variant.name
        shutil.copyfile(variant, binary)
        return Place(
            folder=folder,
            variant=binary,
            tests=copied,
            libraries=libraries,
            device=self._device,
            code_cache=self._code_cache,
            seed=self._seed,
            limits={case.name: self._case_seconds + case.cost / slowest for case in choice.chosen},
            detectors=self._detectors,
            exact=exact_cases(choice.chosen, self._seed, least=LEAST_COST) if self._code_cache else frozenset(),
            varied=varied_cases(choice.chosen, self._seed, least=LEAST_COST) if self._code_cache else frozenset(),
        )


def _shares(cases: tuple[CaseDescription, ...], count: int) -> list[list[str]]:
    """Split cases among processes: the costliest first, each to whoever has least to do."""
    loads, shares = [0.0] * count, [list[str]() for _ in range(count)]
    for case in sorted(cases, key=lambda case: -case.cost):
        least = loads.index(min(loads))
        loads[least] += max(case.cost, LEAST_COST)
        shares[least].append(case.name)
    return [share for share in shares if share]


def _processes() -> int:
    return max(1, len(os.sched_getaffinity(0)))


def _version(package: str) -> str | None:
    """Return the version of a package; ``None`` if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
