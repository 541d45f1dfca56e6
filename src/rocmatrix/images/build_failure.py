"""A build of an image that failed: at which line of the Dockerfile, why, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocmatrix.errors import BuildError, InputError, MissingRequirementError, RocmatrixError
from rocmatrix.images.recipe import Recipe
from rocmatrix.images.recipe_file import DOCKERFILE

_CLASSIC_STEP = re.compile(r"Step (\d+)/\d+ : ")
_BUILDX_LINE = re.compile(rf"{DOCKERFILE}:(\d+)$")
_BUILDX_STEP = re.compile(r" > \[.*?\] (.+):$")
_PARSE_ERROR = re.compile(r"[Dd]ockerfile parse error (?:on )?line (\d+): (.+)")
_LAST_LINES = 12
_LONGEST_LINE = 500

_MIRROR = "Name one that can be had with --base (a mirror, or an image that this engine has)"
_MEANINGS = (
    (
        r"[Cc]ache export (?:feature )?is (?:currently )?not supported for (?:the )?docker driver",
        "the engine's own builder (buildx' driver `docker`) writes no cache into a registry",
        "Make one that does (`docker buildx create --use`) and run the same command again, or leave --cache out.",
    ),
    (
        (
            r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|self[- ]signed certificate|unable to get local issuer"
            r"|certificate signed by unknown authority|certificate is NOT trusted|SSL certificate problem"
        ),
        "a server's certificate is not trusted: a proxy that intercepts TLS, or a server of the site itself",
        "Give the site's certificates with --ca-bundle FILE; for the pull of a base image, give them to the engine.",
    ),
    (
        r"no space left on device|No space left on device|You don't have enough free space",
        "the disk of the docker engine is full",
        "Free space (`docker system df`), then run the same command again.",
    ),
    (
        r"Release file for .* is expired|is not valid yet",
        "the metadata of a package archive is expired: a mirror that is no longer updated, or a wrong clock",
        "Set the clock, choose another mirror, or let apt accept it: -o Acquire::Check-Valid-Until=false.",
    ),
    (
        (
            r"Version '(?P<version>[^']+)' for '(?P<name>[^']+)' was not found|No matching distribution found"
            r"|No match for argument|Unable to find a match"
        ),
        "the archive has no such version of a pinned package any more",
        "Resolve the pins anew with `rocmatrix images pin`, or use a mirror that keeps old versions.",
    ),
    (
        r"computed checksums? did NOT match|checksum didn't match|DO NOT MATCH THE HASHES|Hash Sum mismatch",
        "a downloaded file is not the one that was pinned",
        "Do not use it. See whether a proxy or mirror changes files; if its publisher did, `rocmatrix images pin`.",
    ),
    (
        r"no matching manifest for|does not match the specified platform|exec format error",
        "the base image is not there for linux/amd64",
        f"{_MIRROR}.",
    ),
    (
        r"toomanyrequests|rate limit",
        "the registry of the base image refuses more pulls for now",
        f"Log in (`docker login`), wait, or {_MIRROR[0].lower()}{_MIRROR[1:]}.",
    ),
    (
        (
            r"manifest unknown|manifest for .* not found|pull access denied|repository does not exist|unauthorized:"
            r"|(?:Get|Head) \"https?://[^\"]*/v2/|invalid reference format"
        ),
        "the engine does not have the base image and cannot pull it",
        f"{_MIRROR}.",
    ),
    (
        (
            r"Could not resolve|Temporary failure (?:in name resolution|resolving)|Name or service not known"
            r"|Network is unreachable|Could not connect to|Connection (?:timed out|refused)|Failed to connect"
        ),
        "a server cannot be reached from the build",
        "Set http_proxy and https_proxy for this command, or --network host; without a network, name mirrors.",
    ),
)
"""Pattern in what the builder said, what it means, and what to do; the first that matches counts."""


class BuildLog:
    """What a builder said, and at which line of the Dockerfile it is."""

    def __init__(self, recipe: Recipe) -> None:
        """Start before the first instruction."""
        self.recipe = recipe
        self.lines: list[str] = []
        self._dockerfile = recipe.context[DOCKERFILE].decode("utf-8", "replace")
        self._instructions = tuple(instruction_lines(self._dockerfile))
        self._line: int | None = None

    def add(self, line: str) -> None:
        """Take one line."""
        self.lines.append(line[:_LONGEST_LINE])
        if found := _CLASSIC_STEP.match(line):
            number = int(found[1]) - 1
            self._line = self._instructions[number] if number < len(self._instructions) else self._line
        elif found := _BUILDX_LINE.match(line.strip()):
            self._line = int(found[1])
        elif (found := _BUILDX_STEP.match(line)) and self._line is None:  # an older BuildKit names no line
            self._line = line_of(self._dockerfile, found[1])

    @property
    def where(self) -> str:
        """``folder/Dockerfile:LINE`` of the instruction that runs."""
        path = str(self.recipe.folder / DOCKERFILE)
        return path if self._line is None else f"{path}:{self._line}"

    @property
    def said(self) -> tuple[str, ...]:
        """The last lines that the instruction itself printed."""
        own = [line for line in self.lines if line.strip() and not line.startswith((" --->", "Step ", "Removing "))]
        return tuple(own[-_LAST_LINES:])


def instruction_lines(dockerfile: str) -> Iterator[int]:
    """Yield the line at which each instruction of a Dockerfile begins; continued lines belong to the one before."""
    continued = False
    for number, line in enumerate(dockerfile.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not continued:
            yield number
        continued = text.endswith("\\")


def line_of(dockerfile: str, step: str) -> int | None:
    """Return the line that BuildKit is at by its own name for a step, or ``None`` if it is at none of them.

    A step is named after its instruction, continued lines joined; the base's manifest is fetched for ``FROM``.
    """
    wanted = ["FROM"] if step.startswith("load metadata for ") else step.split()
    for number, line in enumerate(dockerfile.splitlines(), 1):
        words = line.rstrip("\\").split()
        common = min(len(words), len(wanted))
        if common and words[:common] == wanted[:common]:
            return number
    return None


def failure(log: BuildLog, error: str) -> RocmatrixError:
    """Return what a failed build means to the person who can mend it.

    A Dockerfile that is none is an ``InputError``. What the site, the engine or an archive lacks is a
    ``MissingRequirementError``; an instruction that failed for a reason of its own is a ``BuildError`` with what it
    printed last.
    """
    if found := _PARSE_ERROR.search(error):
        return InputError(
            f"{log.recipe.label} cannot be built: {found[2].strip()}",
            where=f"{log.recipe.folder / DOCKERFILE}:{found[1]}",
            fix="Correct the Dockerfile.",
        )
    evidence = "\n".join([*log.said, error])
    for pattern, what, fix in _MEANINGS:
        if found := re.search(pattern, evidence):
            line = next((one for one in [*log.said, error] if found[0] in one), error)
            return MissingRequirementError(
                f"{log.recipe.label} cannot be built: {what}\n  {line.strip()}", where=log.where, fix=fix
            )
    printed = "".join(f"\n  | {line}" for line in log.said)
    return BuildError(
        f"{log.recipe.label} cannot be built: {error.strip()}{printed}",
        where=log.where,
        fix="Correct the recipe; `rocmatrix images build -v` shows all that the builder says.",
    )
