"""The executor ``emulator``: numerical cases through the real launcher of the built binary, its launches emulated.

Binary and cases run in processes of their own, confined like a build: a scrubbed environment, copies, a time limit. A
process that a binary takes down is a failed case with the name of the signal, and the rest goes on in another one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import metadata
from pathlib import Path

from rocmatrix import digest
from rocmatrix.cases import CaseDescription
from rocmatrix.check.budget import Choice, choose
from rocmatrix.check.confined import Place, Run, merge, run_share
from rocmatrix.check.interface import Execution, UntestableError
from rocmatrix.digest import Digest
from rocmatrix.emulator import host as host_package
from rocmatrix.emulator.code_object import ARCH
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.emulation import mode
from rocmatrix.emulator.host.prepare import prepare
from rocmatrix.emulator.host.profiles import DEFAULT, profile
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.model import Unit
from rocmatrix.records import Tested

DEFAULT_BUDGET = 12e6
"""Floating-point operations of the cases that the reference interpreter runs in about half a minute on two cores."""
TRANSLATED_BUDGET = 10e9
"""The same where kernels are translated to C first."""
LEAST_COST = 2e6
"""What the smallest case costs: a workgroup that has next to nothing to do takes a quarter of a second."""
_DECODER = "tinygrad"


def translating_executor(engine: Engine, cache: Path) -> EmulatorExecutor:
    """Return the executor of the main job: kernels are translated to C, and many more cases fit its budget."""
    return EmulatorExecutor(engine=engine, cache=cache, budget=TRANSLATED_BUDGET, translated=True)


class EmulatorExecutor:
    """Runs cases on the emulator; one artifact is executed once, however many units have its bytes."""

    def __init__(
        self,
        *,
        engine: Engine,
        cache: Path,
        budget: float | None = DEFAULT_BUDGET,
        device: str = DEFAULT,
        translated: bool = False,
    ) -> None:
        """Keep what is needed.

        Args:
            engine: where the processes run.
            cache: folder that several runs share, for the compiled stand-ins.
            budget: floating-point operations of the cases that run; ``None`` for all of them.
            device: which profile the runtime plays.
            translated: whether kernels are translated to C, or interpreted by the reference.

        Raises:
            InputError: there is no such profile.
        """
        self._engine = engine
        self._cache = cache
        self._budget = budget
        self._device = device
        self._code_cache = cache / "emulator-code" if translated else None
        self._description = (
            f"{ARCH} on the emulator ({mode(self._code_cache)}; device properties of {profile(device).name})"
        )
        self._done: dict[tuple[Digest, Path], Execution] = {}

    @cached_property
    def identity(self) -> str:
        """Digest of the emulator's own files, its decoder and compiler, budget and device."""
        folder = Path(host_package.__file__).parent.parent
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        own = digest.of_named_files({path.relative_to(folder).as_posix(): path for path in files})
        packages = " ".join(f"{name} {_version(name)}" for name in (_DECODER, "ziglang"))
        return f"emulator {own} {packages} budget {self._budget} device {self._device} {mode(self._code_cache)}"

    def run(self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...]) -> Execution:
        """Run a spread of the cases.

        Raises:
            UntestableError: the unit has no code for the emulated GPU, or needs what is not emulated.
            CheckError: the processes said nothing that can be used.
            MissingRequirementError: the stand-ins cannot be compiled on this machine.
        """
        variant = self._variant(unit, payload)
        key = (digest.of_file(variant), tests)
        if key not in self._done:
            self._done[key] = self._execute(variant, tests, choose(cases, self._budget, least=LEAST_COST))
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
            raise UntestableError(f"the emulator executes one shared object, and this unit has {len(found)}")
        return found[0]

    def _execute(self, variant: Path, tests: Path, choice: Choice) -> Execution:
        with tempfile.TemporaryDirectory(prefix="rocmatrix-check-", ignore_cleanup_errors=True) as folder:
            place = self._place(Path(folder), variant, tests)
            shares = _shares(choice.chosen, _processes())
            try:
                with ThreadPoolExecutor(len(shares)) as pool:
                    runs = tuple(pool.map(lambda share: run_share(self._engine, place, *share), enumerate(shares)))
            except BaseException:
                self._engine.interrupt()
                raise
        return self._came_to(choice, merge(runs))

    def _came_to(self, choice: Choice, run: Run) -> Execution:
        """A wrong case is a result, whatever another one needs that is not emulated."""
        if run.unsupported and all(result.passed for result in run.results):
            raise UntestableError(run.unsupported)
        by_name = {result.case: result for result in run.results}
        names = [case.name for case in choice.chosen]
        total = len(choice.chosen) + len(choice.left_out)
        said = [self._description]
        if choice.left_out:
            said.append(f"{len(choice.left_out)} of {total} cases left out by the budget")
        if run.unsupported:
            said.append(f"{len(names) - len(by_name)} of {total} cases not run: {run.unsupported}")
        return Execution(
            tested=Tested.EMULATED,
            device="; ".join(said),
            results=tuple(by_name[name] for name in names if name in by_name),
            left_out=(*choice.left_out, *(name for name in names if name not in by_name)),
        )

    def _place(self, folder: Path, variant: Path, tests: Path) -> Place:
        try:
            libraries = prepare(variant, RuntimeCompiler(engine=self._engine, cache=self._cache))
        except (UnsupportedError, InputError) as err:
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
