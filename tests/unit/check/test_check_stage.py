"""The stage check: cases are read and validated apart from the run, and what nobody ran is untested."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.cases import CaseDescription
from rocmatrix.check.interface import Execution, Executor, Progress, UntestableError
from rocmatrix.check.stage import NO_CASES, Checked, check_units
from rocmatrix.errors import CheckError, ExitCode, InputError, MissingRequirementError
from rocmatrix.events import Event, Stage, State, UnitFinished, UnitProgress, discard
from rocmatrix.plan.model import Plan, Unit, UnitId
from rocmatrix.records import CaseResult, CheckRecord, Outcome, Tested
from rocmatrix.store import Absent, Store
from tests.unit.conftest import UNIT

GOOD = """
import numpy as np
from rocmatrix.cases import Case

CASES = [
    Case(
        name="two-ones",
        op="add",
        arguments={"a": lambda random: random.standard_normal((2, 3)).astype(np.float32)},
        reference=lambda a: a.astype(np.float64) + 1,
        rtol=1e-6,
        atol=0.0,
        cost=6.0,
    )
]
"""


class Project:
    """A kernel project with cases, a store with a payload, and the stage run on them."""

    def __init__(self, root: Path, plan: Plan) -> None:
        self.root, self.plan = root, plan
        self.store = Store(root / "dist")
        self.tests = root / "kernels" / "gemm" / "tests"
        self.tests.mkdir(parents=True)
        self.change_payload("first")
        self.events: list[Event] = []

    def change_payload(self, content: str) -> None:
        self.store.work.mkdir(parents=True, exist_ok=True)
        staged = self.store.work / "staged"
        staged.mkdir()
        (staged / "__init__.py").write_text(content)
        self.store.replace_payload(UNIT, staged)

    def write_cases(self, text: str) -> None:
        (self.tests / "cases.py").write_text(text)

    def check(self, executor: Executor | None = None, *, use_cache: bool = True, strict: bool = False) -> CheckRecord:
        return self.run(executor, use_cache=use_cache, strict=strict).records[UNIT]

    def run(self, executor: Executor | None, *, use_cache: bool = True, strict: bool = False) -> Checked:
        self.events.clear()
        return check_units(
            self.plan.units,
            plan=self.plan,
            source_root=self.root,
            store=self.store,
            emit=self.events.append,
            use_cache=use_cache,
            executor=executor,
            strict=strict,
        )

    @property
    def finished(self) -> UnitFinished:
        return next(event for event in self.events if isinstance(event, UnitFinished))


@pytest.fixture
def project(tmp_path: Path, plan: Plan) -> Project:
    return Project(tmp_path, plan)


class CountingExecutor:
    """Says of every case that it passed, or that it did not, and counts how often it was asked."""

    def __init__(self, *, passes: bool = True, identity: str = "test executor 1") -> None:
        self.passes, self.named, self.runs, self.interrupted = passes, identity, 0, False

    def identity(self, unit: Unit) -> str:
        return f"{self.named} {unit.id}"

    def interrupt(self) -> None:
        self.interrupted = True

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        assert (payload / "__init__.py").is_file()
        assert (tests / "cases.py").is_file()
        assert unit.id == UNIT
        self.runs += 1
        progress(1, len(cases), cases[0].name)
        results = tuple(
            CaseResult(case=case.name, passed=self.passes, max_abs_error=0.5, max_rel_error=0.5, seconds=0.0)
            for case in cases
        )
        return Execution(tested=Tested.EMULATED, device="a test", results=results)


def test_without_an_executor_a_unit_is_untested_and_its_cases_were_read(project: Project) -> None:
    project.write_cases(GOOD)
    record = project.check()
    assert (record.outcome, record.tested, record.cases) == (Outcome.PASSED, Tested.UNTESTED, ())
    assert "1 numerical cases were read, not run" in record.reason
    assert project.finished.state is State.UNTESTED
    assert project.store.read_record(UNIT, CheckRecord) == record


def test_a_kernel_without_cases_is_untested_for_that_reason(project: Project) -> None:
    record = project.check()
    assert (record.outcome, record.tested, record.reason) == (Outcome.PASSED, Tested.UNTESTED, NO_CASES)


def test_a_unit_without_a_payload_is_skipped(project: Project) -> None:
    project.store.discard_payload(UNIT)
    assert project.run(None) == Checked(records={})


def test_broken_cases_fail_the_unit_with_file_and_line(project: Project) -> None:
    project.write_cases("import numpy\n\nCASES = [1 / 0]\n")
    record = project.check()
    assert record.outcome is Outcome.FAILED
    assert record.reason == "kernels/gemm/tests/cases.py:3: ZeroDivisionError: division by zero"
    assert project.finished.exit_code == ExitCode.CHECK
    assert project.finished.state is State.FAILED


def test_a_failure_is_tried_anew_and_mended_cases_pass(project: Project) -> None:
    project.write_cases("CASES = None")
    assert project.check().outcome is Outcome.FAILED
    project.write_cases(GOOD)
    assert project.check().outcome is Outcome.PASSED


def test_an_executor_decides_and_its_result_is_kept(project: Project) -> None:
    project.write_cases(GOOD)
    executor = CountingExecutor()
    record = project.check(executor)
    assert (record.outcome, record.tested, record.reason) == (Outcome.PASSED, Tested.EMULATED, "a test")
    assert [case.case for case in record.cases] == ["two-ones"]
    assert project.finished.state is State.DONE
    assert project.check(executor) == record
    assert (executor.runs, project.finished.state) == (1, State.REUSED)


@pytest.mark.parametrize("change", ["payload", "cases", "helper", "executor", "no cache"])
def test_a_result_is_not_used_again_when_what_it_speaks_of_changed(project: Project, change: str) -> None:
    project.write_cases(GOOD)
    project.check(CountingExecutor())
    second = CountingExecutor(identity="test executor 2" if change == "executor" else "test executor 1")
    if change == "payload":
        project.change_payload("second")
    elif change == "cases":
        project.write_cases(GOOD.replace("cost=6.0", "cost=7.0"))
    elif change == "helper":
        (project.tests / "helper.py").write_text("")
    project.check(second, use_cache=change != "no cache")
    assert second.runs == 1


def test_a_wrong_number_fails_the_unit_and_names_the_case(project: Project) -> None:
    project.write_cases(GOOD)
    record = project.check(CountingExecutor(passes=False))
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.EMULATED)
    assert record.reason == "two-ones: outside of its tolerance; 1 of 1 cases failed on a test"
    assert project.finished.exit_code == ExitCode.CHECK


def test_a_wrong_number_is_computed_anew_although_nothing_changed(project: Project) -> None:
    project.write_cases(GOOD)
    executor = CountingExecutor(passes=False)
    project.check(executor)
    project.check(executor)
    assert executor.runs == 2


def test_the_cases_of_a_kernel_are_read_once_for_all_its_units(project: Project) -> None:
    counter = project.root / "counter"
    project.write_cases(f"open({str(counter)!r}, 'a').write('x')\n" + GOOD)
    (unit,) = project.plan.units
    check_units((unit, replace(unit)), plan=project.plan, source_root=project.root, store=project.store, emit=discard)
    assert counter.read_text() == "x"


class RaisingExecutor(CountingExecutor):
    """Cannot say anything, for one reason or another."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        del unit, payload, tests, cases, progress
        raise self.error


def test_a_unit_that_the_executor_cannot_run_is_untested_for_its_reason(project: Project) -> None:
    project.write_cases(GOOD)
    record = project.check(RaisingExecutor(UntestableError("the emulator executes gfx942 only")))
    assert (record.outcome, record.tested) == (Outcome.PASSED, Tested.UNTESTED)
    assert record.reason == "the emulator executes gfx942 only"
    assert project.finished.state is State.UNTESTED


def test_a_payload_that_is_not_what_it_should_be_fails_its_unit_and_ends_a_strict_check(project: Project) -> None:
    project.write_cases(GOOD)
    executor = RaisingExecutor(InputError("it holds no code object for gfx942", where="_x.abi3.so"))
    record = project.check(executor)
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.UNTESTED)
    assert record.reason == "_x.abi3.so: it holds no code object for gfx942"
    with pytest.raises(InputError, match="it holds no code object for gfx942"):
        project.check(executor, strict=True)


def test_cases_that_could_not_be_run_fail_the_unit(project: Project) -> None:
    project.write_cases(GOOD)
    record = project.check(RaisingExecutor(CheckError("the process that runs the cases ended with status 1")))
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.UNTESTED)
    assert project.finished.exit_code == ExitCode.CHECK


def test_cases_that_were_left_out_are_named_in_the_record(project: Project) -> None:
    class Choosing(CountingExecutor):
        def run(
            self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
        ) -> Execution:
            return replace(super().run(unit, payload, tests, cases, progress=progress), left_out=("the-other",))

    project.write_cases(GOOD)
    assert project.check(Choosing()).left_out == ("the-other",)


def test_each_case_is_progress_of_its_unit(project: Project) -> None:
    project.write_cases(GOOD)
    project.check(CountingExecutor())
    (progress,) = [event for event in project.events if isinstance(event, UnitProgress)]
    assert (progress.unit, progress.stage, progress.done, progress.total) == (UNIT, Stage.CHECK, 1, 1)
    assert progress.step == "two-ones"


def test_what_no_executor_should_raise_ends_the_others_and_comes_out(project: Project) -> None:
    project.write_cases(GOOD)
    executor = RaisingExecutor(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        project.check(executor)
    assert executor.interrupted


def test_seed_device_and_detectors_are_in_the_record(project: Project) -> None:
    class Telling(CountingExecutor):
        def run(
            self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
        ) -> Execution:
            made = super().run(unit, payload, tests, cases, progress=progress)
            return replace(made, profile="mi300x-cpx", seed=7, detectors=("waits",))

    project.write_cases(GOOD)
    record = project.check(Telling())
    assert (record.device, record.seed, record.detectors) == ("mi300x-cpx", 7, ("waits",))


def test_what_units_lack_does_not_stop_the_others_and_is_said_of_each(project: Project) -> None:
    class Lacking(CountingExecutor):
        def run(
            self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
        ) -> Execution:
            if unit.id != UNIT:
                lacks[unit.id].set()
                raise MissingRequirementError("its image is another one", where=unit.id, fix="Name another.")
            assert all(lack.wait(30) for lack in lacks.values())
            return super().run(unit, payload, tests, cases, progress=progress)

    lacks = {UnitId("gemm.first"): threading.Event(), UnitId("gemm.second"): threading.Event()}
    project.write_cases(GOOD)
    (unit,) = project.plan.units
    others = [replace(unit, id=name) for name in lacks]
    for other in others:
        shutil.copytree(project.store.unit_folder(UNIT), project.store.unit_folder(other.id))
    executor = Lacking(passes=False)
    project.plan = replace(project.plan, units=(*others, unit))
    checked = project.run(executor)
    assert not executor.interrupted
    assert checked.lacking == tuple(lacks)
    assert checked.records[UNIT].outcome is Outcome.FAILED
    ends = {event.unit: event for event in project.events if isinstance(event, UnitFinished)}
    assert {unit: end.exit_code for unit, end in ends.items()} == {
        **dict.fromkeys(lacks, ExitCode.ENVIRONMENT),
        UNIT: ExitCode.CHECK,
    }
    for name in lacks:
        assert (ends[name].state, ends[name].error) == (
            State.FAILED,
            f"{name}: its image is another one\n  Name another.",
        )
        assert isinstance(project.store.read_record(name, CheckRecord), Absent)
