"""Rules that the workflow files of this repository keep, as functions from a file to what breaks them."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from rocmatrix.cli.main import make_parser

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
PINS = tomllib.loads((ROOT / ".github/pins.toml").read_text(encoding="utf-8"))
_VALUES = {"$MODE": "check", "$ROWS": "001-llvm"}
"""Variables in commands whose values have to be among some."""

_USES = re.compile(r"^\s*(?:-\s+)?uses:\s*(?P<what>\S+)(?:\s+#\s*(?P<comment>.*))?$", re.MULTILINE)
_NOT_IN_A_RELEASE = "${{ inputs.mode != 'release' }}"
_OWN_JOBS = {"build-kernel.yml/check-gpu", "gpu.yml/check"}
_MAY_HAVE_IDENTITY = {
    "build-kernel.yml/release",
    "release.yml/kernel",
    "release.yml/github-release",
    "ci.yml/kernels",
}
_MAY_WRITE = {
    "release.yml/github-release": {"contents", "id-token", "attestations"},
    "images.yml/push": {"packages"},
    "images.yml/bases": {"contents", "pull-requests"},
    "watch.yml/indexes": {"contents", "pull-requests"},
}


@dataclass(frozen=True, kw_only=True)
class File:
    """A workflow or an action: its name, its text, and what YAML makes of it."""

    name: str
    text: str
    content: dict[str, Any]

    @property
    def events(self) -> dict[str, Any]:
        """What starts it; YAML 1.1 reads the key ``on`` as true."""
        found = self.content.get("on") or self.content.get(cast("str", True))  # noqa: FBT003 - a key of YAML
        if isinstance(found, dict):
            return found
        return dict.fromkeys(found if isinstance(found, list) else [str(found)])

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        jobs: dict[str, dict[str, Any]] = self.content.get("jobs", {})
        return jobs

    @property
    def steps(self) -> list[tuple[str, dict[str, Any]]]:
        """Every step with the name of its place."""
        own = [("", step) for step in self.content.get("runs", {}).get("steps", [])]
        return own + [(f"{self.name}/{name}", step) for name, job in self.jobs.items() for step in job.get("steps", [])]


def read(path: Path, text: str | None = None) -> File:
    """Return a file, with another text than it has on disk if one is given."""
    return _read(path, path.read_text(encoding="utf-8") if text is None else text)


@cache
def _read(path: Path, text: str) -> File:
    name = path.name if path.name != "action.yml" else path.parent.name
    return File(name=name, text=text, content=yaml.load(text, yaml.CSafeLoader))


def permissions(file: File) -> Iterator[str]:
    """Nothing at the top; of each job the least, and what writes is named here."""
    if file.jobs and file.content.get("permissions") != {}:
        yield "the workflow's own permissions are not {}"
    for name, job in file.jobs.items():
        place, granted = f"{file.name}/{name}", job.get("permissions")
        if not isinstance(granted, dict):
            yield f"{name}: no permissions of its own"
            continue
        writes = {scope for scope, level in granted.items() if level != "read"}
        allowed = _MAY_WRITE.get(place, set()) | ({"id-token"} if place in _MAY_HAVE_IDENTITY else set())
        if writes - allowed:
            yield f"{name}: may write {sorted(writes - allowed)}"


def pins(file: File) -> Iterator[str]:
    """Every action is our own at the running commit, or one of pins.toml at its commit, its version in a comment."""
    for match in _USES.finditer(file.text):
        what, comment = match["what"], match["comment"] or ""
        if what.startswith("$/"):
            target = ROOT / what.removeprefix("$/")
            if not (target.is_file() or (target / "action.yml").is_file()):
                yield f"{what}: there is no such file"
            continue
        path, _, ref = what.partition("@")
        pin = PINS.get("/".join(path.split("/")[:2]))
        if pin is None or ref != pin["sha"]:
            yield f"{what}: not a commit of pins.toml"
        elif comment.strip() != pin["version"]:
            yield f"{what}: its comment is not {pin['version']}"


def timeouts(file: File) -> Iterator[str]:
    """Every job and every step of a workflow ends; a step before its job."""
    for name, job in file.jobs.items():
        if "uses" in job:
            continue
        limit = job.get("timeout-minutes")
        if not isinstance(limit, int):
            yield f"{name}: no time limit"
            continue
        for step in job["steps"]:
            own = step.get("timeout-minutes")
            if not isinstance(own, int) or own > limit:
                yield f"{name}: step {step.get('name')} has no limit within its job's"


def expressions(file: File) -> Iterator[str]:
    """No expression is pasted into a command; what people type reaches commands as variables."""
    for place, step in file.steps:
        if "${{" in step.get("run", ""):
            yield f"{place}: an expression in the command of {step.get('name')}"
    for scope in re.findall(r"github\.event\.[a-z_.]+|github\.head_ref", file.text):
        if scope != "github.event.repository.default_branch":
            yield f"{scope} is what a stranger may choose"


def checkouts(file: File) -> Iterator[str]:
    """A checkout leaves no token behind."""
    for place, step in file.steps:
        kept = (step.get("with") or {}).get("persist-credentials") is not False
        if kept and step.get("uses", "").startswith("actions/checkout@"):
            yield f"{place}: a checkout keeps its credentials"


def events(file: File) -> Iterator[str]:
    """Nothing runs strangers' code with this repository's rights."""
    if file.jobs:
        for event in set(file.events) & {"pull_request_target", "workflow_run", "issue_comment", "issues"}:
            yield f"it runs on {event}"


def secrets(file: File) -> Iterator[str]:
    """Secrets reach the release alone, by name."""
    if "inherit" in [job.get("secrets") for job in file.jobs.values()]:
        yield "secrets are inherited"
    named = set(re.findall(r"secrets\.([A-Za-z_-]+)", file.text))
    if named - ({"hf-token"} if file.name == "build-kernel.yml" else set()):
        yield f"it reads {sorted(named)}"
    if file.name == "build-kernel.yml":
        for name, job in file.jobs.items():
            if name != "release" and "secrets." in yaml.safe_dump(job):
                yield f"{name} reads a secret"


def self_hosted(file: File) -> Iterator[str]:
    """Machines of one's own hold no credential and are used where a person has agreed; no stranger reaches them."""
    for name, job in file.jobs.items():
        runner = yaml.safe_dump(job.get("runs-on"))
        own = "self-hosted" in runner or "gpu-runner" in runner
        place = f"{file.name}/{name}"
        if own and place not in _OWN_JOBS:
            yield f"{name}: runs on a machine of one's own"
        if own and ("secrets." in yaml.safe_dump(job) or "github.token" in yaml.safe_dump(job) or "environment" in job):
            yield f"{name}: a machine of one's own gets a credential"
        if own and job.get("permissions") != {"contents": "read"}:
            yield f"{name}: a machine of one's own may do more than read"
        if own and "pull_request" in file.events:
            yield f"{name}: a pull request reaches a machine of one's own"


def artifacts(file: File) -> Iterator[str]:
    """No two uploads of a run have one name: names differ, and jobs of a matrix put their row's id into theirs.

    A job that runs again replaces what it left before, where GitHub would refuse the name (NVIDIA/aicr#1928).
    """
    seen: set[str] = set()
    for name, job in file.jobs.items():
        for step in job.get("steps", []):
            if not step.get("uses", "").startswith("actions/upload-artifact@"):
                continue
            artifact = step["with"]["name"]
            if artifact in seen or ("strategy" in job and "matrix.id" not in artifact):
                yield f"{name}: the artifact {artifact} is not unique"
            seen.add(artifact)
            if step["with"].get("overwrite") != "${{ github.run_attempt > 1 }}":
                yield f"{name}: the artifact {artifact} is replaced in a first attempt, or refused in a later one"


def concurrency(file: File) -> Iterator[str]:
    """What is not called by others says what it may not run beside; a release is never cut off."""
    if not file.jobs or "workflow_call" in file.events:
        return
    limits = file.content.get("concurrency")
    if not isinstance(limits, dict) or not limits.get("group"):
        yield "it has no concurrency group"
    elif limits.get("cancel-in-progress") is not False and file.name != "ci.yml":
        yield "it may be cancelled by the next run"


def unseen_failures(file: File) -> Iterator[str]:
    """No command is one whose failure bash passes over: the loop that reads it would find nothing bad."""
    for place, step in file.steps:
        if "< <(" in step.get("run", ""):
            yield f"{place}: {step.get('name')} reads a command whose failure nobody sees"


def caches(file: File) -> Iterator[str]:
    """What may write, has an identity, or is part of a release takes nothing from caches: other runs wrote them."""
    if "mode" in ((file.events.get("workflow_call") or {}).get("inputs") or {}):
        for place, step in file.steps:
            taken = (step.get("with") or {}).get("caches")
            if step.get("uses", "").endswith("setup-rocmatrix") and taken not in ("false", _NOT_IN_A_RELEASE):
                yield f"{place}: takes what lies in caches in mode release"
    for name, job in file.jobs.items():
        granted = job.get("permissions")
        if not isinstance(granted, dict) or all(level == "read" for level in granted.values()):
            continue
        for step in job.get("steps", []):
            if step.get("uses", "").endswith("setup-rocmatrix") and (step.get("with") or {}).get("caches") != "false":
                yield f"{name}: may write, and takes what lies in caches"


_parser = cache(make_parser)


def command_line(file: File) -> Iterator[str]:
    """Every command of rocmatrix in a step is one that the command line knows."""
    parser = _parser()
    verbs = next(action for action in parser._actions if isinstance(action.choices, dict)).choices
    assert isinstance(verbs, dict)
    for _, step in file.steps:
        for line in step.get("run", "").replace("\\\n", " ").splitlines():
            for command in re.findall(r"(?:^|[|;(] *|while )\s*rocmatrix ([^|;)]*)", line.strip()):
                words = shlex.split(command.replace("${GPU:+--gpu}", "--gpu"))
                known = verbs.get(words[0])
                if known is None:
                    yield f"there is no verb {words[0]}"
                    continue
                for option in (word.partition("=")[0] for word in words if word.startswith("--")):
                    if option not in known._option_string_actions:
                        yield f"{words[0]} has no option {option}"
                said = [_VALUES.get(word, word) for word in words if not word.startswith("${")]
                _, rest = parser.parse_known_args(said)
                if rest:
                    yield f"{words[0]} takes no {' '.join(rest)}"


RULES: tuple[Callable[[File], Iterator[str]], ...] = (
    permissions,
    pins,
    timeouts,
    expressions,
    checkouts,
    events,
    secrets,
    self_hosted,
    artifacts,
    concurrency,
    unseen_failures,
    caches,
    command_line,
)
