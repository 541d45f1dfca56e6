"""What a wheel is called: distribution, version and tags, from what a variant is. Pure.

Version: that of the release, and as its local part (PEP 440) what tells the variants of one release apart, as torch's
own wheels do: ``1.2.0+rocm7.2.torch2.10.stable``. Tags: ``cp39-abi3`` for compiled variants (kernel-builder builds for
the limited API of Python 3.9, and the audit holds that), ``py3-none-any`` for those without compiled code.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from packaging.utils import canonicalize_name, is_normalized_name
from packaging.version import InvalidVersion, Version

from rocmatrix.errors import InputError
from rocmatrix.plan.model import Abi
from rocmatrix.plan.text import quote
from rocmatrix.plan.variants import Variant

MANYLINUX = "manylinux_2_28"
"""The policy that the audit's rule ``version-ceilings`` holds binaries to."""
PYTHON = (3, 9)
"""Lowest Python: kernel-builder's limited API."""


@dataclass(frozen=True, kw_only=True)
class WheelName:
    """The parts of a wheel's file name (binary distribution format, "File name convention").

    Attributes:
        distribution: with dashes, as users write it.
        version: with its local part.
        python: e.g. ``cp39``; likewise ``abi`` and ``platform``.
    """

    distribution: str
    version: Version
    python: str
    abi: str
    platform: str

    @property
    def escaped(self) -> str:
        """Distribution and version as they begin the names of file and folder."""
        return f"{self.distribution.replace('-', '_')}-{self.version}"

    @property
    def tag(self) -> str:
        """The tag that ``WHEEL`` states."""
        return f"{self.python}-{self.abi}-{self.platform}"

    @property
    def file(self) -> str:
        """The file name."""
        return f"{self.escaped}-{self.tag}.whl"


def wheel_name(distribution: str, version: Version, variant: Variant, *, portable: bool) -> WheelName:
    """Return what the wheel of a variant is called.

    Args:
        distribution: normalized.
        version: of the release, without a local part.
        variant: what its name says.
        portable: whether the audit holds its binaries to ``MANYLINUX``; else the wheel is for Linuxes like the one that
            it was built for.
    """
    local = _local(variant)
    full = Version(f"{version}+{local}") if local else version
    if variant.abi is Abi.NOARCH:
        return WheelName(distribution=distribution, version=full, python="py3", abi="none", platform="any")
    platform = f"{MANYLINUX if portable else 'linux'}_{variant.cpu}"
    python = f"cp{PYTHON[0]}{PYTHON[1]}"
    return WheelName(distribution=distribution, version=full, python=python, abi="abi3", platform=platform)


def _local(variant: Variant) -> str:
    if variant.abi is Abi.NOARCH:
        return ""
    stable = ".stable" if variant.abi is Abi.STABLE else ""
    return f"rocm{variant.rocm}.torch{variant.torch}{stable}"


def release_version(tag: str | None, kernel: str, major: int) -> Version:
    """Return the version that a tag of the sources names; without a tag, a development version of the major one.

    Args:
        tag: ``v1.2.0`` or ``gemm-v1.2.0``.
        kernel: whose tag it is.
        major: ``general.version``.

    Raises:
        InputError: the tag is none of a release of this kernel.
    """
    if tag is None:
        return Version(f"{major}.dev0")
    text = tag.removeprefix(f"{kernel}-")
    fix = f"Tags of its releases are v{major}.Y.Z, with X = {major}, the version of its build.toml."
    try:
        version = Version(text.removeprefix("v")) if text.startswith("v") else None
    except InvalidVersion:
        version = None
    if version is None or version.local or len(version.release) != 3:  # noqa: PLR2004 - X.Y.Z
        raise InputError(f"{quote(tag)} is no tag of a release of {kernel}", where="--tag", fix=fix)
    if version.major != major:
        what = f"{quote(tag)} is of major version {version.major}, and build.toml of {kernel} says version = {major}"
        raise InputError(what, where="--tag", fix=fix)
    return version


def distribution_name(named: str | None, kernel: str) -> str:
    """Return the name that users install: ``--name``, or the kernel's own.

    Raises:
        InputError: it is no name of a distribution.
    """
    name = canonicalize_name(named if named is not None else kernel)
    if not is_normalized_name(name):
        fix = "Use letters, digits and dashes; it begins and ends with a letter or a digit."
        raise InputError(f"{quote(named or kernel)} names no distribution", where="--name", fix=fix)
    return name


def module_name(kernel: str) -> str:
    """Return the name that users import.

    Raises:
        InputError: Python itself or torch has a module of that name, and one would hide the other.
    """
    module = kernel.replace("-", "_")
    if module in sys.stdlib_module_names or module == "torch":
        owner = "torch" if module == "torch" else "Python"
        raise InputError(
            f"`import {module}` already means a module of {owner}, and one would hide the other",
            where=kernel,
            fix="Rename the kernel in build.toml; `get_kernel` loads it under any name.",
        )
    return module
