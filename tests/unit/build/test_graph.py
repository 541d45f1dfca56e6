from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocmatrix.build.graph import GraphRun, ninja_text, run_graph
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import BuildError
from rocmatrix.toolchain.interface import DAMAGED_CACHE, Step


@dataclass
class Seen:
    lines: list[str] = field(default_factory=list)
    steps: list[tuple[int, int, str]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)


def run(steps: list[Step], folder: Path, *, jobs: int = 2) -> Seen:
    seen = Seen()
    run_graph(
        steps,
        GraphRun(
            engine=HostEngine(),
            folder=folder,
            writable=(),
            project=folder / "project",
            jobs=jobs,
            log=seen.lines.append,
            on_step=lambda done, total, label: seen.steps.append((done, total, label)),
            on_damage=seen.damage.append,
        ),
    )
    return seen


def shell(script: str, output: Path, *inputs: Path, label: str = "step", **environment: str) -> Step:
    argv = ("sh", "-c", script, str(output), *(str(path) for path in inputs))
    return Step(label=label, argv=argv, inputs=inputs, outputs=(output,), environment=environment)


def test_steps_run_in_the_order_of_their_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    seen = run([shell('cat "$1" > "$0"', second, first, label="b"), shell('echo 1 > "$0"', first, label="a")], tmp_path)
    assert second.read_text() == "1\n"
    assert seen.steps == [(1, 2, "a"), (2, 2, "b")]


def test_a_step_that_found_damage_in_a_cache_is_heard(tmp_path: Path) -> None:
    step = shell('echo "$SAID"; echo 1 > "$0"', tmp_path / "made", SAID=f"{DAMAGED_CACHE}a.so is made again")
    assert run([step], tmp_path).damage == ["a.so is made again"]


@pytest.mark.parametrize("name", ["a b", "$HOME", "$$", "a$ b", "a:b", "'", "#"])
def test_files_are_found_under_any_name(tmp_path: Path, name: str) -> None:
    source, first, second = tmp_path / name, tmp_path / f"1 {name}", tmp_path / f"2 {name}"
    source.write_text("1\n")
    run([shell('cat "$1" > "$0"', second, first), shell('cat "$1" > "$0"', first, source)], tmp_path)
    assert second.read_text() == "1\n"


@pytest.mark.parametrize("word", ["a b", "$HOME", "$$", "'", '"', ";", "a:b", "*", "\\", "ä", "#", "|", "(x)"])
def test_words_arrive_as_they_are(tmp_path: Path, word: str) -> None:
    output = tmp_path / f"out {word.replace('/', '')}"
    step = shell('printf "%s\\n%s" "$1" "$WORD" > "$0"', output, label=word, WORD=word)
    step = Step(label=word, argv=(*step.argv, word), inputs=(), outputs=(output,), environment={"WORD": word})
    seen = run([step], tmp_path)
    assert output.read_text() == f"{word}\n{word}"
    assert seen.steps == [(1, 1, word)]


def test_the_environment_of_a_step_is_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    script = 'echo "${VALUE:-unset}" > "$0"'
    run([shell(script, one, VALUE="1"), shell(script, two)], tmp_path)
    assert (one.read_text(), two.read_text()) == ("1\n", "unset\n")


def test_output_of_commands_that_run_together_is_not_mixed(tmp_path: Path) -> None:
    script = 'for i in 1 2 3 4 5; do echo "$0"; sleep 0.05; done; touch "$0"'
    seen = run([shell(script, tmp_path / name) for name in ("a", "b", "c")], tmp_path, jobs=3)
    printed = [line for line in seen.lines if line.startswith(str(tmp_path))]
    assert [printed[number : number + 5] for number in (0, 5, 10)] == [[printed[number]] * 5 for number in (0, 5, 10)]


def test_a_failure_is_the_first_error_with_a_path_relative_to_the_project(tmp_path: Path) -> None:
    script = f"echo '{tmp_path}/project/gemm/gemm.hip:7:3: error: no'; echo '  x = ;'; exit 3"
    with pytest.raises(BuildError) as caught:
        run([shell(script, tmp_path / "out")], tmp_path)
    assert caught.value.what == "gemm/gemm.hip:7:3: error: no\n  x = ;"


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"'missing\.h', needed by"):
        run([shell("true", tmp_path / "out", Path("missing.h"))], tmp_path)


def test_a_line_end_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line end"):
        ninja_text([shell("a\nb", tmp_path / "out")])
