"""The shell lines of the documents: each parses, names files that are there, and uses options that exist.

Looked at are the fenced blocks marked ``sh`` or ``console`` of README.md and of every Markdown file in docs/ and
requirements/. In a ``console`` block the commands are the lines after ``$``.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>sh|console)\b.*?\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
OURS = {
    "scripts/build_matrix.py": ("-m", "rocmatrix", "run"),  # what it hands its arguments to
    "scripts/run_tests.py": ("scripts/run_tests.py",),
}
PYTEST_OPTIONS = {"-k", "-x", "-q", "-v"}


@dataclass(frozen=True, kw_only=True)
class Block:
    """Shell lines of a document and the line they begin on."""

    where: str
    script: str


def blocks(text: str, name: str) -> list[Block]:
    """Return the shell blocks of a Markdown text."""
    found = []
    for match in FENCE.finditer(text):
        body = match["body"]
        if match["language"] == "console":
            body = "".join(f"{line[2:]}\n" for line in body.splitlines() if line.startswith("$ "))
        line = text.count("\n", 0, match.start("body")) + 1
        found.append(Block(where=f"{name}:{line}", script=body))
    return found


def documents() -> list[Block]:
    files = [REPOSITORY / "README.md", *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("requirements/*.md")]
    return [
        block
        for file in sorted(files)
        if file.exists()
        for block in blocks(file.read_text(encoding="utf-8"), str(file.relative_to(REPOSITORY)))
    ]


def commands(script: str) -> list[list[str]]:
    """Return the commands of a script, word by word; pipes and lists are taken apart, comments left out."""
    joined = script.replace("\\\n", " ")
    parsed = []
    for line in joined.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set(";|&"):
                parsed += [command] if command else []
                command = []
            else:
                command.append(word)
    return parsed


@cache
def help_of(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command, "--help"], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout if done.returncode == 0 else ""


def wrong_with(command: list[str]) -> str | None:
    """Return what is wrong with a documented command of this project, or ``None``; other programs are not judged."""
    program, *arguments = command
    if program.startswith("python3") and arguments and arguments[0].endswith(".py"):
        script, *arguments = arguments
        if not (REPOSITORY / script).is_file():
            return f"there is no {script}"
        said = help_of(*OURS[script]) if script in OURS else ""
    elif program == "rocmatrix":
        verb = next((argument for argument in arguments if not argument.startswith("-")), None)
        said = help_of("-m", "rocmatrix", verb) if verb else help_of("-m", "rocmatrix")
    elif "/" in program and not (REPOSITORY / program).exists():
        return f"there is no {program}"
    else:
        return None
    if not said:
        return f"`{shlex.join(command)}` has no --help"
    options = {word.partition("=")[0] for word in arguments if word.startswith("-")} - PYTEST_OPTIONS
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", said))
    return f"it has no option {', '.join(sorted(options - known))}" if options - known else None


@pytest.mark.parametrize("block", documents(), ids=lambda block: block.where)
def test_a_documented_command_parses_and_exists(block: Block) -> None:
    parsed = subprocess.run(["bash", "-n"], input=block.script, capture_output=True, text=True, check=False, timeout=30)
    assert parsed.returncode == 0, f"{block.where}: {parsed.stderr}"
    wrong = [
        f"{shlex.join(command)}: {reason}" for command in commands(block.script) if (reason := wrong_with(command))
    ]
    assert not wrong, f"{block.where}: {wrong}"


def test_the_two_commands_of_the_readme_are_among_them() -> None:
    lines = [line for block in documents() if block.where.startswith("README.md") for line in block.script.splitlines()]
    assert "python3 scripts/build_matrix.py" in lines
    assert "python3 scripts/run_tests.py" in lines


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("python3 scripts/no_such.py", "there is no scripts/no_such.py"),
        ("python3 scripts/run_tests.py --fats", "it has no option --fats"),
        ("cd x && python3 scripts/build_matrix.py --no-such=1", "it has no option --no-such"),
        ("rocmatrix nonsense", "has no --help"),
        ("true | rocmatrix plan --no-such", "it has no option --no-such"),
        ("requirements/nothing.sh", "there is no requirements/nothing.sh"),
    ],
)
def test_a_wrong_command_is_found(line: str, wrong: str) -> None:
    (block,) = blocks(f"text\n```sh\n{line}\n```\n", "page.md")
    assert block.where == "page.md:3"
    assert any(wrong in (wrong_with(command) or "") for command in commands(block.script))


def test_in_a_console_block_only_lines_after_the_prompt_are_commands() -> None:
    (block,) = blocks("```console\n$ rocmatrix plan  # all of it\ncells  units\n```\n", "page.md")
    assert commands(block.script) == [["rocmatrix", "plan"]]
