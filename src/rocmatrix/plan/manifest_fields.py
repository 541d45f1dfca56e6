"""The kinds of values that occur in build.toml: versions, URLs of sources, source paths, flags.

What the official parser accepts (``kernels._rust.Build`` of kernels 0.17.2) is accepted, except where rocmatrix would
have to act on a value: sources, suffixes, flags and versions of what it builds are checked more strictly, and the
message says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from rocmatrix.errors import InputError
from rocmatrix.plan.matrix_fields import repo_id, unquoted
from rocmatrix.plan.node import Kind, Node
from rocmatrix.plan.text import acts_on_workflows, quote
from rocmatrix.plan.version import is_minor, minor_key

STRICTER = "kernel-builder accepts it; rocmatrix, which has to act on it, does not."
"""Ends the advice wherever this module refuses what the official parser takes."""

LARGEST_MAJOR = 9999

KERNEL_NAME = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]", re.ASCII)
"""kernels-data's ``KernelName``, as ``kernels`` 0.17.2 checks it."""

LONGEST_NAME = 100
"""Characters of ``general.name``. It names folders and files together with what is added to it (``<name>.<variant>``,
``_<module>_rocm_<uid>.abi3.so``), and Linux has at most 255 bytes for each; the ids of sections have the same limit."""

_OFFICIAL_VERSION = re.compile(r"\s*[0-9]+\.[0-9]+\s*", re.ASCII)
_URL = re.compile(r"(https?|git|ssh|git\+(?:ssh|https?))://[^\s/]+\S*", re.IGNORECASE)
_SCP_URL = re.compile(r"[^\s/:@]+@[^\s/:]+:\S+")
_SOURCE_PART = re.compile(r"[A-Za-z0-9_.+@=-]+")
SUFFIX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,40}")
SECTION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
ARCH = re.compile(r"[A-Za-z0-9:+_-]{1,40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


def kernel_name(node: Node) -> str:
    """Return ``general.name``; raises ``InputError`` if the client would refuse it or it is too long for files."""
    text = node.string()
    if not KERNEL_NAME.fullmatch(text):
        fix = "Use lower-case letters, digits and dashes, at least two, a letter first and no dash last: my-kernel."
        raise node.error(f"{quote(text)} is not a name for a kernel", fix)
    if len(text) > LONGEST_NAME:
        fix = f"At most {LONGEST_NAME} characters: folders, variants and files are named after it. {STRICTER}"
        raise node.error(f"{quote(text)} is too long for the name of a kernel", fix)
    return text


def major_version(node: Node) -> int:
    """Return ``general.version``, the number of a branch on the Hub; raises ``InputError`` for what is none."""
    number = node.integer(lowest=0)
    if number > LARGEST_MAJOR:
        raise node.error(f"{number} is not a version that a branch can have", f"At most {LARGEST_MAJOR}. {STRICTER}")
    return number


def licence(node: Node) -> str:
    """Return ``general.license``; raises ``InputError`` for what is not a text, or an empty one."""
    if not node.text:
        node.require_string()
        raise node.error("is empty", f"Write the licence's id, e.g. Apache-2.0. {STRICTER}")
    return node.string()


def hub_repository(node: Node) -> str:
    """Return a repository of the Hub; raises ``InputError`` for what cannot be the name of one."""
    try:
        return repo_id(node)
    except InputError as err:
        if not node.text:
            raise
        raise InputError(err.what, where=err.where, fix=f"{err.fix} {STRICTER}") from err


def version(node: Node) -> str:
    """Return a version of exactly two numbers, e.g. ``2.11``; raises ``InputError`` for anything else."""
    if node.kind in {Kind.FLOAT, Kind.INTEGER}:
        raise node.error(*unquoted(node, "TOML"))
    text = node.string('Write a version in quotes, e.g. "2.11".')
    if not is_minor(text):
        stricter = f" Each number has at most four digits and no zero before it. {STRICTER}"
        fix = 'Write e.g. "2.11".' + (stricter if _OFFICIAL_VERSION.fullmatch(text) else "")
        raise node.error(f"{quote(text)} is not a version of two numbers", fix)
    return text


def optional_version(keys: Mapping[str, Node], name: str) -> str | None:
    """Return a version, or ``None`` if the key is absent."""
    return version(keys[name]) if name in keys else None


def version_range(keys: Mapping[str, Node]) -> tuple[str | None, str | None]:
    """Return ``minver`` and ``maxver``, each ``None`` if absent; raises ``InputError`` if no version is left."""
    lowest, highest = optional_version(keys, "minver"), optional_version(keys, "maxver")
    if lowest and highest and minor_key(lowest) > minor_key(highest):
        what = f"{quote(lowest)} is higher than {keys['maxver'].key}, {quote(highest)}, so that no version is served"
        raise keys["minver"].error(what, f"Correct one of the two, or leave it out. {STRICTER}")
    return lowest, highest


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
        fix = f"Use letters, digits and . _ / - {STRICTER}"
        raise node.error(f"{quote(text)} is not a branch that can be used", fix)
    return text


def section_id(node: Node, name: str) -> str:
    """Return the id of a kernel section, which names files of the build; raises ``InputError`` for other characters."""
    if not SECTION_ID.fullmatch(name):
        fix = f"Use letters, digits, '.', '_' and '-': it names files. {STRICTER}"
        raise node.error("the id of the section cannot be used", fix)
    return name


def require_harmless(node: Node) -> None:
    """Refuse values, and names of tables, that could act on a terminal or on the log of a workflow.

    Asked of the whole file after every key has been looked at by itself, since a key may say better what is allowed.

    Raises:
        InputError: at the first value that has characters that do not print, a workflow's command or an expression.
    """
    if node.kind is Kind.STRING:
        _require_harmless(node, node.text)
    for name, inner in node.entries.items():
        _require_harmless(inner, name)
        require_harmless(inner)
    for item in node.items:
        require_harmless(item)


def source_paths(node: Node) -> tuple[str, ...]:
    """Return source files as they are written.

    Raises:
        InputError: a path leaves the project, is a pattern, has characters that a build graph would act on, or is
            there twice, also if only upper and lower case differ.
    """
    paths = tuple(_source_path(item) for item in node.elements())
    seen: dict[str, str] = {}
    for item in node.items:
        folded = PurePosixPath(item.text).as_posix().casefold()
        if (first := seen.get(folded)) is None:
            seen[folded] = item.text
            continue
        if PurePosixPath(first) == PurePosixPath(item.text):
            raise item.error(f"{quote(item.text)} is named twice", f"Remove one. {STRICTER}")
        what = f"{quote(item.text)} and {quote(first)} differ in upper and lower case only"
        raise item.error(what, f"Some file systems take them for one file: rename one, or remove it. {STRICTER}")
    return paths


def include_paths(keys: Mapping[str, Node]) -> tuple[str, ...] | None:
    """Return ``include`` as written, ``None`` if it is absent; raises ``InputError`` as ``source_paths`` does."""
    return tuple(_source_path(item) for item in keys["include"].elements()) if "include" in keys else None


def suffixes(keys: Mapping[str, Node]) -> tuple[str, ...]:
    """Return ``pyext``, by default ``py`` and ``pyi``; raises ``InputError`` for what is not a suffix."""
    if "pyext" not in keys:
        return ("py", "pyi")
    for item in keys["pyext"].elements():
        if not SUFFIX.fullmatch(item.string()):
            raise item.error(
                f"{quote(item.text)} is not a suffix of a file", f'Write it without dot, e.g. "py". {STRICTER}'
            )
    return tuple(item.text for item in keys["pyext"].items)


def flags(keys: Mapping[str, Node], name: str) -> tuple[str, ...]:
    """Return compiler flags, none by default; raises ``InputError`` for what is no list of strings."""
    return keys[name].strings() if name in keys else ()


def archs(keys: Mapping[str, Node], name: str) -> tuple[str, ...] | None:
    """Return gfx archs as written, ``None`` if absent; raises ``InputError`` for what could be no arch at all."""
    if name not in keys:
        return None
    for item in keys[name].elements():
        if not ARCH.fullmatch(item.string()):
            raise item.error(f"{quote(item.text)} is not a gfx arch", f"Write e.g. gfx942. {STRICTER}")
    return tuple(dict.fromkeys(item.text for item in keys[name].items))


def _require_harmless(node: Node, text: str) -> None:
    if not text.isprintable():
        raise node.error(f"{quote(text)} has characters that do not print", f"Remove them. {STRICTER}")
    if acts_on_workflows(text):
        fix = f"Remove it: the logs of GitHub's workflows act on such values. {STRICTER}"
        raise node.error(f"{quote(text)} has a workflow's command or expression", fix)


def _source_path(node: Node) -> str:
    text = node.string()
    if text.startswith("/") or ".." in text.split("/") or "\\" in text:
        raise node.error(
            f"{quote(text)} leaves the project", f"Write a path relative to build.toml, with /. {STRICTER}"
        )
    if not all(_SOURCE_PART.fullmatch(part) for part in text.split("/") if part):
        fix = f"Use letters, digits and . _ + @ = - (patterns are not expanded: name each file). {STRICTER}"
        raise node.error(f"{quote(text)} is not a path that can be built", fix)
    return text
