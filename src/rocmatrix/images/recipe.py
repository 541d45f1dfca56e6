"""What a recipe is: a Dockerfile, the arguments it was chosen with, its pins, and what the image then holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rocmatrix.digest import Digest, canonical_json, of_parts
from rocmatrix.images.pins import Base, PinSet, unverified

BASE_ARGUMENT = "BASE"
"""The build argument that names another base image; every recipe takes it."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Where the image has the programs that a build runs, as absolute paths in it.

    Attributes:
        hipcc: HIP's compiler driver.
        clang: the C++ compiler that it drives.
        ninja: runs the build graph.
        python: CPython of at least 3.9, for the steps and gates of a build.
    """

    hipcc: str
    clang: str
    ninja: str
    python: str


@dataclass(frozen=True, kw_only=True)
class ExpectedFinding:
    """A finding that the audit must have on what this image builds; only recipes that are never released have some.

    Attributes:
        rule: id of the audit's rule.
        match: text that the finding's ``what`` or ``where`` contains.
        reason: why it is so.
    """

    rule: str
    match: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One image that can be built: a recipe with its arguments.

    Attributes:
        name: ``almalinux``, ``therock``, ``debian``, or the last part of a user's own path.
        folder: holds the Dockerfile.
        args: every argument that chose this image, but for the base.
        hip: ROCm minors, as ``torch.version.hip`` says them, that it builds for; empty for a conformance recipe, which
            builds for any and is never released.
        compiler: whose build of the compiler it is, e.g. ``AMD`` or ``Debian``.
        base: the image that it begins with.
        overridden: whether the user named that base instead of the recipe's own.
        releasable: whether what it builds may be published.
        tools: paths of programs in the image.
        environment: variables that hipcc needs.
        expected_findings: what the audit must say of gemm built by it.
        build_bytes: free bytes that building it takes on the engine's disk.
        pins: versions of what is installed.
        context: files that the engine's builder sees, by their path, without the caller's certificates.
    """

    name: str
    folder: Path
    args: dict[str, str]
    hip: tuple[str, ...]
    compiler: str
    base: Base
    overridden: bool
    releasable: bool
    tools: Tools
    environment: dict[str, str]
    expected_findings: tuple[ExpectedFinding, ...]
    build_bytes: int
    pins: tuple[PinSet, ...]
    context: dict[str, bytes]

    @cached_property
    def digest(self) -> Digest:
        """Digest of all that decides what is in the image and how it is used, whichever engine or builder makes it.

        A base that is named with its digest counts by that digest alone, so that a mirror changes nothing. README and
        the provenance of pins do not count.
        """
        chosen = {
            "args": self.args,
            "base": self.base.identity,
            "environment": self.environment,
            "tools": vars(self.tools),
        }
        files = [(f"context/{path}", content) for path, content in self.context.items()]
        return of_parts([*files, ("chosen", canonical_json(chosen))])

    @property
    def short_digest(self) -> str:
        """The digest's first 16 hexadecimal digits."""
        return self.digest.removeprefix("sha256:")[:16]

    @property
    def label(self) -> str:
        """How people name it: ``debian (SUITE=trixie)``."""
        args = ", ".join(f"{name}={value}" for name, value in sorted(self.args.items()))
        return f"{self.name} ({args})" if args else self.name

    @property
    def reference(self) -> str:
        """The image's name on an engine: ``rocmatrix/<name>:<recipe digest>``."""
        return f"rocmatrix/{self.name.lower()}:{self.short_digest}"


def unverified_pins(recipe: Recipe) -> tuple[str, ...]:
    """Return the pins of a recipe that nobody has resolved: a release waits for them."""
    return unverified(recipe.base, recipe.pins)
