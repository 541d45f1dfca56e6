from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocmatrix.build.graph import GraphRun, ninja_text, run_graph
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import BuildError, InputError, MissingRequirementError
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
            timeout=60.0,
            log=seen.lines.append,
            on_step=lambda done, total, label: seen.steps.append((done, total, label)),
            on_damage=seen.damage.append,
            on_kept=lambda _: None,
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
    output = tmp_path / f"out {word.replace('|', '')}"
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


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a|b", "a\udcffb"])
def test_a_path_that_ninja_cannot_hold_is_refused_by_name(tmp_path: Path, name: str) -> None:
    for step in (shell("true", tmp_path / name / "out"), shell("true", tmp_path / "out", tmp_path / name / "in")):
        with pytest.raises(InputError, match=r"the build cannot use the name '.*a.*b") as refused:
            ninja_text([step])
        assert "--out" in str(refused.value)


@pytest.mark.parametrize("word", ["a\nb", "a\rb", "a\udcffb"])
def test_an_argument_that_ninja_cannot_hold_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match=r"a.*b"):
        ninja_text([shell(word, tmp_path / "out")])


FULL_DISK = "a command failed with .* bytes free on its disk"


@pytest.mark.parametrize("said", ["LLVM ERROR: IO failure on output stream", "Bus error", ""])
def test_a_command_that_fails_on_a_full_disk_is_no_fault_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    step = shell('printf %s "$SAID"; exit 1', tmp_path / "out", SAID=said)
    with pytest.raises(BuildError):
        run([step], tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    with pytest.raises(MissingRequirementError, match=FULL_DISK):
        run([step], tmp_path)


def test_a_tool_that_says_that_some_disk_is_full_is_believed(tmp_path: Path) -> None:
    step = shell('echo "zig: error: unable to write: No space left on device"; exit 1', tmp_path / "out")
    with pytest.raises(MissingRequirementError, match=FULL_DISK):
        run([step], tmp_path)


def test_an_error_with_file_and_line_is_the_sources_fault_on_a_full_disk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    with pytest.raises(BuildError, match=r"^a\.hip:1:2: error: wrong"):
        run([shell("echo 'a.hip:1:2: error: wrong'; exit 1", tmp_path / "out")], tmp_path)
