"""What a release differs from: the last one that is on the Hub, whatever tags git has; and the notes that say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.releasing.comparison import Comparison, NothingBefore, compare_with
from tests.system.hub import RunningHub
from tests.system.release_source import REPOSITORY, Source
from tests.system.test_release import release, yank

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github/actions/github-release/notes.sh"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


def before(hub: RunningHub, source: Source, tag: str) -> str:
    """Return the release that a tag is compared with; ``""`` for none."""
    found = compare_with(tag, out=source.store.root, hub=hub.endpoint, before=True)
    if isinstance(found, NothingBefore):
        assert (found.repository, found.before, found.version) == (REPOSITORY, tag, 2)
        return ""
    assert isinstance(found, Comparison)
    return found.tag


def test_it_is_the_last_one_on_the_hub_that_was_not_withdrawn(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source)  # v2.0.0
    assert before(hub, source, "v2.0.0") == ""
    assert before(hub, source, "v2.0.9") == "v2.0.0", "v2.0.1 to v2.0.8 may be tags in git that nobody released"
    release(hub, changed)  # v2.1.0
    assert before(hub, changed, "v2.1.0") == "v2.0.0"
    assert before(hub, changed, "v2.2.0") == "v2.1.0"
    yank(hub, changed, "v2.1.0")
    assert before(hub, changed, "v2.2.0") == "v2.0.0"


def test_notes_of_a_github_release_say_it_or_that_it_is_the_first(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    release(hub, source)
    assert notes(hub, source, tmp_path, "v2.0.0") == f"    v2.0.0 is the first release of version 2 of {REPOSITORY}\n"
    text = notes(hub, source, tmp_path, "v2.3.0")
    assert text.startswith(f"    compared with v2.0.0 of {REPOSITORY}:\n")
    assert all(line.startswith("    ") for line in text.splitlines())
    with pytest.raises(InputError, match="is no release"):
        before(hub, source, "latest")


def notes(hub: RunningHub, source: Source, folder: Path, tag: str) -> str:
    """Run the script of the action, with rocmatrix itself, and return what it wrote."""
    program = folder / "bin/rocmatrix"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}/src" exec "{sys.executable}" -P -m rocmatrix "$@"\n')
    program.chmod(0o755)
    variables = {**hub.environment(), "TAG": tag, "SET": str(source.store.root), "RUNNER_TEMP": str(folder)}
    variables["PATH"] = f"{program.parent}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(["bash", str(SCRIPT)], env=variables, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert (first.startswith("::stop-commands::"), last) == (True, f"::{first.rpartition(':')[2]}::")
    return (folder / "release-notes.md").read_text()
