"""What GitHub would start for the push of a tag, by its own documentation's examples and this repository's files."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.workflows.trigger import require_triggered
from tests.unit.workflows.rules import WORKFLOWS

JOBS = "jobs: {a: {runs-on: ubuntu-24.04, steps: [{run: 'true'}]}}\n"


def refusal(text: str, tag: str = "v1.0.0") -> str:
    """Return why nothing is started; ``""`` if something is."""
    try:
        require_triggered(text.encode(), "w.yml", tag)
    except InputError as err:
        return str(err).partition("\n")[0]
    return ""


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("push", ""),
        ("[pull_request, push]", ""),
        ("{push: }", ""),
        ("{push: {tags: }, workflow_dispatch: }", "on.push.tags is ''"),
        ("{push: {tags: []}}", "on.push.tags is empty"),
        ("{push: {paths: [src/**]}}", ""),
        ("{push: {branches: [main], tags: ['v*']}}", ""),
        ("{push: {tags-ignore: ['v2*']}}", ""),
        ("release", "it does not run for a push"),
        ("{release: {types: [published]}}", "it does not run for a push"),
        ("{push: {tags: ['release-*']}}", "on.push.tags is 'release-*'"),
        ("{push: {tags: release-*}}", "on.push.tags is 'release-*'"),
        ("{push: {tags: ['v*', '!v1.*']}}", "on.push.tags is 'v*', '!v1.*'"),
        ("{push: {tags: ['!v1.*', 'v*']}}", ""),
        ("{push: {branches: ['**']}}", "on.push names branches, and no tags"),
        ("{push: {branches-ignore: [x]}}", "on.push names branches, and no tags"),
        ("{push: {tags-ignore: ['v1*']}}", "on.push.tags-ignore is 'v1*'"),
        ("{push: {tags: [v*], tags-ignore: [x]}}", "on.push has both tags and tags-ignore"),
    ],
)
def test_filters_of_a_push_decide(on: str, said: str) -> None:
    found = refusal(f"on: {on}\n{JOBS}")
    assert found == (f"w.yml: GitHub starts nothing of it for a push of 'v1.0.0': {said}" if said else "")


@pytest.mark.parametrize(
    ("pattern", "tags", "others"),
    [
        ("v[12].[0-9]+.[0-9]+", ("v1.10.1", "v2.0.0"), ("v3.0.0", "v1.0", "v1.0.0-rc", "v1x0x0")),
        ("v[0-9]+.[0-9]+.[0-9]+*", ("v1.0.0", "v1.0.0-rc.1"), ("v1.0", "v1.0.0/a", "gemm-v1.0.0")),
        ("*", ("v1", "v1-a"), ("v1/a",)),
        ("**", ("v1", "v1/a"), ()),
        ("a/**/b", ("a/x/b", "a/x/y/b"), ("a/b/c",)),
        ("colou?r", ("color", "colour"), ("colouur",)),
        ("*-v*", ("gemm-v1.0.0", "-v"), ("v1.0.0",)),
        (r"v1\+", ("v1+",), ("v1", "v11")),
        ("+", ("+",), ("",)),
        ("V1", ("V1",), ("v1",)),
        ("v1[._-]x", ("v1.x", "v1_x", "v1-x"), ("v1x", "v1[._-]x")),
        ("v[^1]+", ("v1", "v^1"), ("v2",)),
        ("v[9-0]", (), ("v9", "v0", "v5")),
        ("v[z-a][--a]", (), ("vz-",)),
        ("v[1", ("v[1",), ("v1",)),
        ("v1.0(.0)|x", ("v1.0(.0)|x",), ("v1.0.0", "x")),
    ],
)
def test_patterns_are_those_of_the_cheat_sheet(pattern: str, tags: tuple[str, ...], others: tuple[str, ...]) -> None:
    text = f"on: {{push: {{tags: ['{pattern}']}}}}\n{JOBS}"
    assert [tag for tag in tags if refusal(text, tag)] == []
    assert [tag for tag in others if not refusal(text, tag)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "w.yml: this is no workflow: it has no on and no jobs"),
        ("# nothing\n", "w.yml: this is no workflow: it has no on and no jobs"),
        ("on: push\n", "w.yml: this is no workflow: it has no jobs"),
        (JOBS, "w.yml: this is no workflow: it has no on"),
        ("- a\n", "w.yml: this is no workflow: it has no on and no jobs"),
        ("some text", "w.yml: this is no workflow: it has no on and no jobs"),
        ("on: push\njobs: [a]\n", "w.yml: this is no workflow: its jobs are no mapping"),
        ("on: push\njobs: {a: [\n", "w.yml:3: this is not YAML: "),
        ("on: push\n\tjobs:\n", "w.yml:2: this is not YAML: "),
        ("[" * 20_000, "this is not YAML"),
        ("on: \x07", "this is not YAML"),
    ],
)
def test_what_is_no_workflow_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_a_tag_of_either_form_starts_this_repository_s_release_and_nothing_else() -> None:
    for tag in ("v1.0.0", "v2.10.3-rc.1", "gemm-v1.0.0"):
        started = [path.name for path in WORKFLOWS if not refusal(path.read_text(encoding="utf-8"), tag)]
        assert started == ["release.yml"]
