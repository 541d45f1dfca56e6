"""The linters of this repository, in one list: what people, pre-commit and ``.ci/run`` run is the same."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from private_environment import REPOSITORY
from private_environment.environment import PrivateEnvironment


@dataclass(frozen=True, kw_only=True)
class Linter:
    """One linter: its command, by name, and the files it looks at (none: it knows them itself)."""

    command: tuple[str, ...]
    files: tuple[Path, ...] = ()


def linters(repository: Path) -> Iterator[Linter]:
    """Yield those that have something to look at in this repository."""
    yield Linter(command=("ruff", "format", "--check"))
    yield Linter(command=("ruff", "check"))
    yield Linter(command=("mypy",))
    yield Linter(command=("lint-imports",))
    places = ("containers", ".github/actions", "src/rocmatrix/workflows/stand_ins")
    scripts = tuple(path for place in places for path in sorted((repository / place).glob("*/*.sh")))
    if scripts:
        yield Linter(command=("shellcheck",), files=scripts)
    workflows = tuple(sorted((repository / ".github" / "workflows").glob("*.y*ml")))
    actions = tuple(sorted((repository / ".github" / "actions").glob("*/action.y*ml")))
    if workflows:
        yield Linter(command=("check-jsonschema", "--builtin-schema", "vendor.github-workflows"), files=workflows)
        yield Linter(command=("actionlint",), files=workflows)
    if actions:
        yield Linter(command=("check-jsonschema", "--builtin-schema", "vendor.github-actions"), files=actions)
    if workflows or actions:
        yield Linter(
            command=("zizmor", "--offline", "--no-progress", "--persona", "auditor"), files=workflows + actions
        )


def lint(environment: PrivateEnvironment) -> int:
    """Run them all, also after one that complains; return 0 when none did, else 1."""
    failed = []
    for linter in linters(REPOSITORY):
        name = " ".join(linter.command)
        started = time.monotonic()
        command = [*linter.command, *(str(file) for file in linter.files)]
        status = subprocess.run(command, cwd=REPOSITORY, env=environment.variables(), check=False).returncode
        print(f"== {name}: {'clean' if status == 0 else 'FAILED'} ({time.monotonic() - started:.1f} s)", flush=True)
        if status != 0:
            failed.append(name)
    print(
        f"== {len(failed)} linters complain: {', '.join(failed)}" if failed else "== all linters are clean", flush=True
    )
    return 1 if failed else 0
