"""The kinds of values that occur in build.toml: versions, URLs of sources, source paths, flags.

What the official parser accepts (``kernels._rust.Build`` of kernels 0.17.2) is accepted, except where rocmatrix would
have to act on a value: sources, suffixes and flags of what it builds are checked more strictly, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocmatrix.plan.node import Node, require_distinct
from rocmatrix.plan.text import quote
from rocmatrix.plan.version import is_minor

KERNEL_NAME = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]", re.ASCII)
"""kernels-data's ``KernelName``, as ``kernels`` 0.17.2 checks it."""

_URL = re.compile(r"(https?|git|ssh|git\+(?:ssh|https?))://[^\s/]+\S*", re.IGNORECASE)
_SCP_URL = re.compile(r"[^\s/:@]+@[^\s/:]+:\S+")
_SOURCE_PART = re.compile(r"[A-Za-z0-9_.+@=-]+")
_SUFFIX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,40}")
_SECTION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_ARCH = re.compile(r"[A-Za-z0-9:+_-]{1,40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


def kernel_name(node: Node) -> str:
    """Return ``general.name``; raises ``InputError`` if the client would refuse it."""
    text = node.string()
    if not KERNEL_NAME.fullmatch(text):
        fix = "Use lower-case letters, digits and dashes, at least two, a letter first and no dash last: my-kernel."
        raise node.error(f"{quote(text)} is not a name for a kernel", fix)
    return text


def version(node: Node) -> str:
    """Return a version of exactly two numbers, e.g. ``2.11``; raises ``InputError`` for anything else."""
    text = node.string()
    if not is_minor(text):
        raise node.error(f"{quote(text)} is not a version of two numbers", 'Write e.g. "2.11".')
    return text


def optional_version(keys: Mapping[str, Node], name: str) -> str | None:
    """Return a version, or ``None`` if the key is absent."""
    return version(keys[name]) if name in keys else None


def git_url(node: Node) -> str:
    """Return the URL of a git repository; raises ``InputError`` for anything else."""
    text = node.string()
    if not (_URL.fullmatch(text) or ("://" not in text and _SCP_URL.fullmatch(text))):
        fix = (
            "Write https://host/path, or user@host:path. Schemes: https, http, git, ssh, git+ssh, git+https, git+http."
        )
        raise node.error(f"{quote(text)} is not the URL of a git repository", fix)
    return text


def branch(node: Node) -> str:
    """Return the name of a branch; raises ``InputError`` for characters that a branch should not have."""
    text = node.string()
    if not _BRANCH.fullmatch(text) or ".." in text:
        raise node.error(f"{quote(text)} is not a branch that can be used", "Use letters, digits and . _ / -")
    return text


def section_id(node: Node, name: str) -> str:
    """Return the id of a kernel section, which names files of the build; raises ``InputError`` for other characters."""
    if not _SECTION_ID.fullmatch(name):
        fix = "Use letters, digits, '.', '_' and '-' (the official parser accepts more; file names and labels do not)."
        raise node.error("the id of the section cannot be used", fix)
    return name


def source_paths(node: Node) -> tuple[str, ...]:
    """Return source files as they are written.

    Raises:
        InputError: a path leaves the project, is a pattern, has characters that a build graph would act on, or is
            there twice, also if only upper and lower case differ.
    """
    paths = tuple(_source_path(item) for item in node.elements())
    require_distinct(node.items)
    if len({path.casefold() for path in paths}) < len(paths):
        seen: dict[str, str] = {}
        for item in node.items:
            if (first := seen.setdefault(item.text.casefold(), item.text)) and first != item.text:
                raise item.error(f"{quote(item.text)} and {quote(first)} differ in upper and lower case only")
    return paths


def include_paths(keys: Mapping[str, Node]) -> tuple[str, ...] | None:
    """Return ``include`` as written, ``None`` if it is absent; raises ``InputError`` as ``source_paths`` does."""
    return tuple(_source_path(item) for item in keys["include"].elements()) if "include" in keys else None


def suffixes(keys: Mapping[str, Node]) -> tuple[str, ...]:
    """Return ``pyext``, by default ``py`` and ``pyi``; raises ``InputError`` for what is not a suffix."""
    if "pyext" not in keys:
        return ("py", "pyi")
    for item in keys["pyext"].elements():
        if not _SUFFIX.fullmatch(item.string()):
            raise item.error(f"{quote(item.text)} is not a suffix of a file", 'Write it without dot, e.g. "py".')
    return tuple(item.text for item in keys["pyext"].items)


def flags(keys: Mapping[str, Node], name: str) -> tuple[str, ...]:
    """Return compiler flags, none by default; raises ``InputError`` for flags with characters that do not print."""
    if name not in keys:
        return ()
    for item in keys[name].elements():
        if not item.string().isprintable():
            raise item.error(f"{quote(item.text)} has characters that do not print", "Remove them.")
    return tuple(item.text for item in keys[name].items)


def archs(keys: Mapping[str, Node], name: str) -> tuple[str, ...] | None:
    """Return gfx archs as written, ``None`` if absent; raises ``InputError`` for what could be no arch at all."""
    if name not in keys:
        return None
    for item in keys[name].elements():
        if not _ARCH.fullmatch(item.string()):
            raise item.error(f"{quote(item.text)} is not a gfx arch", "Write e.g. gfx942.")
    return tuple(dict.fromkeys(item.text for item in keys[name].items))


def _source_path(node: Node) -> str:
    text = node.string()
    if text.startswith("/") or ".." in text.split("/") or "\\" in text:
        raise node.error(f"{quote(text)} leaves the project", "Write a path relative to build.toml, with /.")
    if not all(_SOURCE_PART.fullmatch(part) for part in text.split("/") if part):
        fix = "Use letters, digits and . _ + @ = - (patterns are not expanded: name each file)."
        raise node.error(f"{quote(text)} is not a path that can be built", fix)
    return text
