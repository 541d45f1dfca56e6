"""Outputs of a step: any value arrives as it is, and none sets an output of its own."""

from pathlib import Path

import pytest

from rocmatrix.errors import MissingRequirementError
from rocmatrix.report.step_outputs import write_step_outputs


def read(text: str) -> dict[str, str]:
    """Read outputs as the runner does (FileCommandManager of actions/runner): NAME<<DELIMITER, lines, DELIMITER."""
    lines, found = iter(text.split("\n")), {}
    for line in lines:
        if not line:
            continue
        name, _, delimiter = line.partition("<<")
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        else:
            raise AssertionError("a value has no end")
        found[name] = "\n".join(value)
    return found


def environment(path: Path) -> dict[str, str]:
    return {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(path)}


def test_values_arrive_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("earlier=kept\n")
    hostile = "a\nunits<<end\n5\nend\nunits=7\n::set-output name=x::y\n${{ secrets.X }}"
    write_step_outputs({"matrix": hostile, "units": "3"}, environment(path))
    write_step_outputs({"coverage": ""}, environment(path))
    text = path.read_text()
    assert text.startswith("earlier=kept\n")
    assert read(text.removeprefix("earlier=kept\n")) == {"matrix": hostile, "units": "3", "coverage": ""}


def test_nothing_is_written_outside_of_a_job(tmp_path: Path) -> None:
    path = tmp_path / "output"
    write_step_outputs({"units": "3"}, {"GITHUB_OUTPUT": str(path)})
    write_step_outputs({"units": "3"}, {"GITHUB_ACTIONS": "true"})
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="no output was written"):
        write_step_outputs({"units": "3"}, environment(tmp_path))


@pytest.mark.parametrize("name", ["", "a b", "A", "a=b", "a<<b", "a\nb"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot name an output"):
        write_step_outputs({name: "3"}, environment(tmp_path / "output"))
