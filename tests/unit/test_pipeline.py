"""The stages in order, on a project without compiled code: the whole main job, no compiler, no network."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix import pipeline
from rocmatrix.cases import CaseDescription
from rocmatrix.check.interface import Execution, Progress
from rocmatrix.errors import ExitCode, InputError, MissingRequirementError
from rocmatrix.events import Event, RunStarted, Stage, State, UnitFinished, discard
from rocmatrix.pipeline import Options
from rocmatrix.plan.model import Unit, UnitId
from rocmatrix.records import CaseResult, Tested
from rocmatrix.store import Store
from rocmatrix.toolchain.engines import EngineChoice

MATRIX = """schema: 1
kernels: [one, two]
torch: ["2.10", "2.11"]
rocm: ["7.1"]
archs: [gfx942]
toolchains: {"7.1": llvm}
"""

MANIFEST = """[general]
name = "NAME"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["rocm"]

[general.hub]
repo-id = "somebody/NAME"

[torch-noarch]
"""


ONE = UnitId("one.torch-rocm")


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """Options for two kernels without compiled code."""
    for name in ("one", "two"):
        package = tmp_path / name / "torch-ext" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("def double(x):\n    return x * 2\n")
        (tmp_path / name / "build.toml").write_text(MANIFEST.replace("NAME", name))
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    return Options(matrix=tmp_path / "matrix.yaml", out=tmp_path / "dist")


def payload_file(options: Options, unit: str) -> Path:
    return options.out / "units" / unit / "payload" / "__init__.py"


def test_a_run_goes_through_all_stages_and_keeps_every_promise(options: Options) -> None:
    events: list[Event] = []
    result = pipeline.run(options, events.append)
    assert result.exit_code is ExitCode.DONE
    assert events[0] == RunStarted(units=(ONE, UnitId("two.torch-rocm")), stages=tuple(Stage))
    assert all(coverage.complete for coverage in result.coverage.values())
    assert {cell.variant for coverage in result.coverage.values() for cell in coverage.cells} == {"torch-rocm"}


def test_stages_run_one_by_one_come_to_the_same_bytes_as_a_run(options: Options, tmp_path: Path) -> None:
    pipeline.run(options, discard)
    apart = Options(matrix=options.matrix, out=tmp_path / "apart")
    for stage in (pipeline.build, pipeline.audit, pipeline.check, pipeline.collect):
        assert stage(apart, discard).exit_code is ExitCode.DONE
    for kernel in ("one", "two"):
        together, alone = (Store(out).variants_folder(kernel) / "torch-rocm" for out in (options.out, apart.out))
        assert (together / "metadata.json").read_bytes() == (alone / "metadata.json").read_bytes()


COMPILED = """
[torch]
src = ["torch-ext/binding.cpp"]
stable-abi = "2.10"

[kernel.one]
backend = "rocm"
depends = ["torch"]
src = ["one.hip"]
"""


def compile_one(options: Options) -> None:
    """Make the kernel ``one`` one with compiled code."""
    folder = options.matrix.parent / "one"
    (folder / "build.toml").write_text(MANIFEST.replace("NAME", "one").replace("[torch-noarch]\n", COMPILED))
    (folder / "torch-ext" / "binding.cpp").touch()
    (folder / "one.hip").touch()


def test_a_unit_that_fails_is_skipped_by_later_stages_and_the_others_go_on(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    compile_one(options)
    options.matrix.write_text(MATRIX.replace("llvm", "{recipe: debian, args: {SUITE: forky}}"))
    events: list[Event] = []
    result = pipeline.run(options, events.append)
    assert result.exit_code is ExitCode.ENVIRONMENT
    one = next(record for unit, record in result.builds.items() if unit.startswith("one."))
    assert one.error
    skipped = [event.stage for event in events if isinstance(event, UnitFinished) and event.state is State.SKIPPED]
    assert skipped == [Stage.AUDIT, Stage.CHECK, Stage.COLLECT]
    assert result.coverage["two"].complete
    assert not result.coverage["one"].complete


CASES = """
import numpy as np
from rocmatrix.cases import Case

CASES = [
    Case(
        name="ones",
        op="double",
        arguments={"x": lambda random: np.ones(3, np.float32)},
        reference=lambda x: 2 * x.astype(np.float64),
        rtol=1e-6,
        atol=0.0,
        cost=3.0,
    )
]
"""


class Lacking:
    """An executor that lacks something for every unit, or for every unit but one, whose numbers are wrong."""

    def __init__(self, wrong: UnitId | None) -> None:
        self.wrong = wrong

    def identity(self, unit: Unit) -> str:
        return f"lacking {unit.id}"

    def interrupt(self) -> None:
        pass

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        del payload, tests, progress
        if unit.id != self.wrong:
            raise MissingRequirementError("its image is another one")
        result = CaseResult(case=cases[0].name, passed=False, max_abs_error=1.0, max_rel_error=1.0, seconds=0.0)
        return Execution(tested=Tested.EMULATED, device="a test", results=(result,))


@pytest.mark.parametrize(
    ("wrong", "code", "tested"),
    [(None, ExitCode.ENVIRONMENT, {Tested.UNTESTED}), (ONE, ExitCode.CHECK, {Tested.UNTESTED, Tested.EMULATED})],
)
def test_a_run_goes_on_without_what_units_lack_and_ends_with_the_worst_of_its_units(
    options: Options, monkeypatch: pytest.MonkeyPatch, wrong: UnitId | None, code: ExitCode, tested: set[Tested]
) -> None:
    for name in ("one", "two"):
        (options.matrix.parent / name / "tests").mkdir()
        (options.matrix.parent / name / "tests" / "cases.py").write_text(CASES)
    monkeypatch.setattr("rocmatrix.check.executors.make_executor", lambda *_args, **_options: Lacking(wrong))
    events: list[Event] = []
    result = pipeline.run(options, events.append)
    assert result.exit_code is code
    told = {event.unit for event in events if isinstance(event, UnitFinished) and event.exit_code == 3}
    assert told == result.lacking == {ONE, UnitId("two.torch-rocm")} - {wrong}
    assert {cell.tested for coverage in result.coverage.values() for cell in coverage.cells} == tested


def test_a_payload_altered_after_its_build_fails_the_audit(options: Options) -> None:
    pipeline.run(options, discard)
    payload_file(options, "one.torch-rocm").write_text("import os  # somebody was here\n")
    events: list[Event] = []
    result = pipeline.audit(options, events.append)
    assert result.altered == {"one.torch-rocm"}
    assert result.exit_code is ExitCode.AUDIT
    failed = [event for event in events if isinstance(event, UnitFinished) and event.state is State.FAILED]
    assert [event.unit for event in failed] == ["one.torch-rocm"]
    assert "not the one that build.json speaks of" in failed[0].reason


def test_an_altered_payload_is_built_again_by_the_next_run(options: Options) -> None:
    first = pipeline.run(options, discard)
    payload_file(options, "one.torch-rocm").write_text("import os  # somebody was here\n")
    assert pipeline.run(options, discard).builds[ONE].artifact_digest == (first.builds[ONE].artifact_digest)


def test_collecting_an_incomplete_set_is_a_failure(options: Options) -> None:
    pipeline.plan(options, discard)
    result = pipeline.collect(options, discard)
    assert not any(coverage.complete for coverage in result.coverage.values())
    assert result.exit_code is ExitCode.BUILD


def test_leaving_units_out_on_purpose_is_no_failure(options: Options) -> None:
    chosen = Options(matrix=options.matrix, out=options.out, only=("one.*",))
    result = pipeline.run(chosen, discard)
    assert result.exit_code is ExitCode.DONE
    assert not result.coverage["two"].complete


def test_an_engine_that_cannot_run_a_toolchain_is_refused(options: Options) -> None:
    compile_one(options)
    chosen = Options(matrix=options.matrix, out=options.out, engine=EngineChoice(name="docker"))
    with pytest.raises(InputError, match="the recipe llvm runs on this machine and has no image for --engine docker"):
        pipeline.build(chosen, discard)


def test_an_image_is_not_run_on_the_host(options: Options) -> None:
    compile_one(options)
    chosen = Options(matrix=options.matrix, out=options.out, toolchain="debian", engine=EngineChoice(name="host"))
    with pytest.raises(InputError, match="the recipe debian is an image, and --engine host runs none"):
        pipeline.build(chosen, discard)


def test_a_stage_alone_needs_a_plan(options: Options) -> None:
    with pytest.raises(InputError, match="rocmatrix plan"):
        pipeline.audit(options, discard)


@pytest.mark.parametrize("stage", [pipeline.audit, pipeline.check])
def test_a_stage_that_finds_nothing_built_says_so(options: Options, stage: Callable[..., object]) -> None:
    pipeline.plan(options, discard)
    with pytest.raises(InputError, match="none of the units is built"):
        stage(options, discard)


@pytest.mark.parametrize("stage", [pipeline.audit, pipeline.check, pipeline.collect])
def test_a_stage_does_not_pass_over_a_matrix_that_is_not_there(options: Options, stage: Callable[..., object]) -> None:
    pipeline.plan(options, discard)
    with pytest.raises(InputError, match=r"mistyped\.yaml: the file cannot be read"):
        stage(replace(options, matrix=options.matrix.with_name("mistyped.yaml")), discard)


def test_a_manifest_that_is_missing_is_an_input_error_that_names_it(options: Options) -> None:
    (options.matrix.parent / "two" / "build.toml").unlink()
    with pytest.raises(
        InputError, match=r"matrix\.yaml:[0-9]+: the folder .two. has no build\.toml: .two/build\.toml. is not"
    ):
        pipeline.run(options, discard)
    assert not options.out.exists()
