"""What matrix.yaml says, as values; every entry knows where in the file it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from rocmatrix.plan.audit_choice import AuditChoice

MATRIX_SCHEMA = 1

ON_THIS_MACHINE = ("llvm", "hipcc")
"""Recipes whose compiler is installed on this machine; all others are images."""

SHIPPED = ("almalinux", "therock", "debian")
"""Recipes of images that come with rocmatrix, by source of ROCm."""

RECIPES = (*ON_THIS_MACHINE, *SHIPPED)
"""Toolchains that come with rocmatrix."""


CHECK_KEYS = ("runner", "images")
RELEASE_KEYS = ("allow-toolchains", "isolation")
HOST = "host"
ISOLATIONS = ("container", HOST)
"""The least isolation of a build that may be released."""


class AbiChoice(StrEnum):
    """How the author wants a kernel with compiled code to be built."""

    AUTO = "auto"
    """By torch's stable ABI where build.toml has a level for it, else per torch."""
    STABLE = "stable"
    """By torch's stable ABI; a kernel without a level is an error."""
    PER_TORCH = "per-torch"
    """Once per torch, whatever build.toml says."""


@dataclass(frozen=True, kw_only=True)
class KernelEntry:
    """One kernel project.

    Attributes:
        path: folder relative to the folder of matrix.yaml, with ``/``; ``.`` for that folder itself.
        repo_id: repository on the Hub; ``None`` for the one that build.toml names.
        archs: gfx archs promised for this kernel; ``None`` for those of the matrix.
        abi: ``None`` for that of the matrix.
        audit: what is asked of its audit.
    """

    path: str
    repo_id: str | None
    archs: tuple[str, ...] | None
    abi: AbiChoice | None
    audit: AuditChoice = field(default_factory=AuditChoice)
    where: str


@dataclass(frozen=True, kw_only=True)
class Include:
    """A combination promised on top of the product of the axes, or with archs of its own.

    Attributes:
        archs: gfx archs promised for it; ``None`` for those of the kernel.
        kernel: name of the only kernel that it is for; ``None`` for all.
    """

    torch: str
    rocm: str
    archs: tuple[str, ...] | None
    kernel: str | None
    where: str


@dataclass(frozen=True, kw_only=True)
class Exclude:
    """Cells of the product that the author does not promise; what is ``None`` matches everything.

    Attributes:
        archs: gfx archs that are not promised for the matching cells; ``None`` excludes the cells.
        reason: the author's words.
    """

    torch: str | None
    rocm: str | None
    kernel: str | None
    archs: tuple[str, ...] | None
    reason: str | None
    where: str


@dataclass(frozen=True, kw_only=True)
class ToolchainChoice:
    """Which toolchain builds for one ROCm minor.

    Attributes:
        recipe: one of ``RECIPES``, or a folder of the user's own as ``./path``.
        args: build arguments of the recipe.
    """

    rocm: str
    recipe: str
    args: dict[str, str]
    where: str


@dataclass(frozen=True, kw_only=True)
class CheckImage:
    """The image with a torch that GPU checks of one torch and one ROCm run in.

    Attributes:
        torch: its minor.
        rocm: minor as ``torch.version.hip`` says it.
        reference: name of the image as docker knows it.
    """

    torch: str
    rocm: str
    reference: str
    where: str


@dataclass(frozen=True, kw_only=True)
class AxisPlaces:
    """Where in the file the axes stand, for messages that are about one of them."""

    kernels: str
    torch: str
    rocm: str
    archs: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix.yaml.

    Attributes:
        torch: axis of torch minors, as written.
        rocm: axis of ROCm minors as ``torch.version.hip`` says them, as written.
        archs: gfx archs promised for kernels that do not say otherwise.
        check_runner: labels of the GitHub runner with a GPU; empty if there is none.
        check_images: images that GPU checks run in.
        allow_toolchains: recipes whose output may be released.
        allow_host_builds: whether what was built outside of a container may be released.
        places: where the axes stand.
        where: the file.
    """

    kernels: tuple[KernelEntry, ...]
    torch: tuple[str, ...]
    rocm: tuple[str, ...]
    archs: tuple[str, ...]
    abi: AbiChoice
    include: tuple[Include, ...]
    exclude: tuple[Exclude, ...]
    toolchains: tuple[ToolchainChoice, ...]
    check_runner: tuple[str, ...]
    check_images: tuple[CheckImage, ...] = ()
    allow_toolchains: tuple[str, ...]
    allow_host_builds: bool
    places: AxisPlaces
    where: str
