"""The kinds of values that occur in matrix.yaml: versions, gfx archs, paths, recipes, repositories, labels."""

from __future__ import annotations

import re

from rocmatrix.plan.matrix_model import RECIPES, CheckImage
from rocmatrix.plan.node import Kind, Node, require_distinct
from rocmatrix.plan.text import acts_on_workflows, allowed, quote
from rocmatrix.plan.version import MINOR_PATTERN, is_minor

ARCH_PATTERN = r"gfx[0-9]{1,2}[0-9a-f]{2}"
PATH_CHARACTERS = r"[A-Za-z0-9_.+@-]"
REPO_ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
ARGUMENT_PATTERN = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
LABEL_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
CELL_PATTERN = f"torch({MINOR_PATTERN})-rocm({MINOR_PATTERN})"
IMAGE_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}"
LONGEST_REASON = 500
MOST_VALUES = 1000
"""Values that an axis may have."""

_MINOR_EXAMPLE = 'Write a version in quotes, e.g. "2.13".'
_MINORS_EXAMPLE = 'Write a list of versions, each in quotes, e.g. ["2.12", "2.13"].'
_ARCHS_EXAMPLE = "Write a list of gfx archs, e.g. [gfx942]."

_ARCH = re.compile(ARCH_PATTERN)
_ARCH_FEATURES = re.compile(r"(gfx[0-9a-f]{3,4})(:[a-z]+[+-])+")
_PATH_PART = re.compile(PATH_CHARACTERS + "{1,100}")
_REPO_ID = re.compile(REPO_ID_PATTERN)
_ARGUMENT = re.compile(ARGUMENT_PATTERN)
_LABEL = re.compile(LABEL_PATTERN)
_CELL = re.compile(CELL_PATTERN)
_IMAGE = re.compile(IMAGE_PATTERN)
_LONGER_VERSION = re.compile(r"v?([0-9]+\.[0-9]+)(\.[0-9]+)*([+-].*)?")


def minor(node: Node) -> str:
    """Return a version ``<major>.<minor>``.

    Raises:
        InputError: it is something else; a number without quotes is explained.
    """
    if node.kind in {Kind.FLOAT, Kind.INTEGER}:
        raise node.error(*unquoted(node, "YAML"))
    text = node.string(_MINOR_EXAMPLE)
    if not is_minor(text):
        longer = _LONGER_VERSION.fullmatch(text)
        meant = f' Write "{longer[1]}".' if longer and is_minor(longer[1]) else ""
        fix = f'Versions are <major>.<minor>, e.g. "2.13"; patch levels belong to toolchains.{meant}'
        raise node.error(f"{quote(text)} is not a minor version", fix)
    return text


def minor_list(node: Node) -> tuple[str, ...]:
    """Return an axis of versions: at least one, none twice; raises ``InputError`` for anything else."""
    return _axis(node, tuple(minor(item) for item in node.elements(_MINORS_EXAMPLE)))


def arch_list(node: Node) -> tuple[str, ...]:
    """Return gfx archs: at least one, none twice, without features; raises ``InputError`` for anything else."""
    return _axis(node, tuple(_arch(item) for item in node.elements(_ARCHS_EXAMPLE)))


def kernel_path(node: Node) -> str:
    """Return the folder of a kernel: relative, with ``/``, without leading ``./`` and trailing ``/``.

    Raises:
        InputError: the path leaves the folder of matrix.yaml or has characters that a shell would act on.
    """
    return _relative_path(node, node.string())


def recipe(node: Node) -> str:
    """Return the name of a toolchain recipe or ``./path``; raises ``InputError`` for anything else."""
    text = node.string()
    if text.startswith("./") or text == ".":
        path = _relative_path(node, text)
        if path == ".":
            raise node.error("a recipe needs a folder of its own", "Write its path, e.g. ./toolchains/mine.")
        return f"./{path}"
    if text not in RECIPES:
        fix = f"{allowed(text, RECIPES)} A recipe of your own is written as a path, ./toolchains/mine."
        raise node.error(f"the toolchain {quote(text)} is not known", fix)
    return text


def repo_id(node: Node) -> str:
    """Return a repository of the Hub, ``<owner>/<name>``; raises ``InputError`` for anything else."""
    text = node.string()
    if not _REPO_ID.fullmatch(text):
        raise node.error(f"{quote(text)} is not a repository of the Hub", "Write <owner>/<name>, e.g. rocmatrix/gemm.")
    return text


def build_arguments(node: Node) -> dict[str, str]:
    """Return the build arguments of a recipe; raises ``InputError`` for names and values that none can have."""
    made = {}
    for name, value in node.table().items():
        text = value.string()
        if not _ARGUMENT.fullmatch(name):
            fix = "Use letters, digits and _, no digit first, e.g. ROCM_VERSION."
            raise value.error(f"{quote(name)} is not the name of a build argument", fix)
        if not text.isprintable() or len(text) > LONGEST_REASON:
            raise value.error(f"must be at most {LONGEST_REASON} printable characters, found {quote(text)}")
        require_no_command(value, text)
        made[name] = text
    return made


def require_no_command(node: Node, text: str) -> None:
    """Refuse a text that the logs of GitHub's workflows would act on; raises ``InputError``."""
    if acts_on_workflows(text):
        fix = "Say it in words: reports are shown in the logs of GitHub's workflows, which act on commands in them."
        raise node.error(f"{quote(text)} has a workflow's command or expression", fix)


def reason(node: Node) -> str:
    """Return the author's words on one line, in any language; raises ``InputError`` for what could act on a log."""
    text = " ".join(node.string().split())
    if not text or not text.isprintable() or len(text) > LONGEST_REASON:
        raise node.error(
            f"must be 1 to {LONGEST_REASON} printable characters, found {quote(text)}", "Say why; reports show it."
        )
    require_no_command(node, text)
    return text


def labels(node: Node) -> tuple[str, ...]:
    """Return the labels of a GitHub runner from one string or a list; raises ``InputError`` for anything else."""
    items = (node,) if node.kind is Kind.STRING else node.elements()
    if not items:
        raise node.error("names no label", "Write the labels of the runner, or leave the key out.")
    for item in items:
        if not _LABEL.fullmatch(item.string()):
            raise item.error(f"{quote(item.text)} is not a label of a runner", "Use letters, digits, '.', '_' and '-'.")
    return tuple(item.text for item in items)


def check_image(cell: str, node: Node) -> CheckImage:
    """Return the image of one torch and one ROCm; raises ``InputError`` for a key or a name that is none."""
    found, text = _CELL.fullmatch(cell), node.string("Write the name of an image, best with its digest.")
    if found is None:
        fix = "A key of check.images is a cell without its kernel, e.g. torch2.13-rocm7.2."
        raise node.error(f"{quote(cell)} is not a torch and a ROCm", fix)
    if not is_image(text):
        fix = "Write it as docker does, e.g. registry/name@sha256:<digest> or name:tag."
        raise node.error(f"{quote(text)} is not the name of an image", fix)
    torch, rocm = found.group(1, 4)  # each version has two groups of its own
    return CheckImage(torch=torch, rocm=rocm, reference=text, where=node.where)


def is_image(text: str) -> bool:
    """Return whether a text can be the name of an image, on the command line or in matrix.yaml."""
    return _IMAGE.fullmatch(text) is not None


def unquoted(node: Node, language: str) -> tuple[str, str]:
    """Return what to say of a version that is a number to ``language`` for lack of quotes, and what to write."""
    text = node.text
    if not is_minor(text):
        return f"{quote(text)} is a number, not a version", _MINOR_EXAMPLE
    value = repr(float(text))
    becomes = (
        f"is the number {value} to {language}"
        if value != text
        else f"is a number to {language}, and 2.10 would become 2.1"
    )
    return f"{text} without quotes {becomes}, not a version", f'Write "{text}".'


def _arch(node: Node) -> str:
    fix = "Write e.g. gfx942."
    text = node.string(fix)
    if _ARCH.fullmatch(text):
        return text
    if found := _ARCH_FEATURES.fullmatch(text):
        fix = f"Write {found[1]}: features such as xnack belong into the kernel's hip-flags."
    elif _ARCH.fullmatch(text.strip().lower()):
        fix = f"Write {text.strip().lower()}."
    raise node.error(f"{quote(text)} is not a gfx arch", fix)


def _axis(node: Node, values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise node.error("is an empty list", "Name at least one value.")
    if len(values) > MOST_VALUES:
        raise node.error(f"has {len(values)} values; at most {MOST_VALUES} are allowed")
    require_distinct(node.items)
    return values


def _relative_path(node: Node, text: str) -> str:
    fix = "Write a path below the folder of matrix.yaml, e.g. kernels/gemm, of letters, digits and . _ + @ -"
    path = relative_path(text)
    if path is None:
        raise node.error(f"{quote(text)} is not a path that can be used here", fix)
    return path


def relative_path(text: str) -> str | None:
    """Return a path below the folder of matrix.yaml as it is compared, ``.`` for that folder; ``None`` for no path."""
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if text.startswith("/") or ".." in parts or not all(_PATH_PART.fullmatch(part) for part in parts):
        return None
    return "/".join(parts) or "."
