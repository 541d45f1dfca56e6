"""What an index page lists: links in, versions out. Pages are foreign text; nothing of them is passed on unread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from rocmatrix.plan.survey import TorchWheel
from rocmatrix.plan.version import in_order, is_minor

_HREF = re.compile(r"""<a\s[^<>]{0,2000}?href\s*=\s*["']?([^"'<>\s]{1,2000})""", re.IGNORECASE)
_TORCH = re.compile(
    r"torch-([0-9]+\.[0-9]+)(?:\.[0-9]+)*(?:\.post[0-9]+)?\+rocm([0-9]+\.[0-9]+)(?:\.[0-9]+)*(?:\.post[0-9]+)?"
    r"-cp([0-9])([0-9]{1,2})-cp[0-9]+t?-(?:many)?linux[0-9a-z_.]*_x86_64\.whl",
    re.ASCII,
)
_ROCM = re.compile(r"rocm-([0-9]+\.[0-9]+)(?:\.[0-9]+)*(?:\.post[0-9]+)?\.tar\.gz", re.ASCII)
_FOLDER = re.compile(r"([0-9]+\.[0-9]+)(?:\.[0-9]+)*", re.ASCII)
_DEVICE = re.compile(r"rocm-sdk-device-(gfx[0-9]{1,2}[0-9a-f]{2})", re.ASCII)


def names_in(page: str) -> list[str]:
    """Return the last part of each link's path, decoded: a file or, without its ``/``, a folder."""
    paths = (_path(link).rstrip("/") for link in _HREF.findall(page))
    return [unquote(path.rpartition("/")[2]) for path in paths]


def torch_wheels(names: Iterable[str]) -> frozenset[TorchWheel]:
    """Return the final releases of torch for ROCm on Linux x86-64 among files, whatever their patch levels."""
    found = (_TORCH.fullmatch(name) for name in names)
    return frozenset(
        TorchWheel(torch=match[1], release=match[2], python=f"{match[3]}.{match[4]}")
        for match in found
        if match and is_minor(match[1]) and is_minor(match[2])
    )


def rocm_packages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the minors of the final releases of the package ``rocm`` among files, lowest first."""
    return _minors(_ROCM, names)


def rocm_folders(names: Iterable[str]) -> tuple[str, ...]:
    """Return the minors of folders that are named like releases, lowest first."""
    return _minors(_FOLDER, names)


def device_archs(names: Iterable[str]) -> tuple[str, ...]:
    """Return the gfx archs that projects ``rocm-sdk-device-<arch>`` exist for, sorted."""
    return tuple(sorted({match[1] for name in names if (match := _DEVICE.fullmatch(name))}))


def _minors(pattern: re.Pattern[str], names: Iterable[str]) -> tuple[str, ...]:
    return in_order(match[1] for name in names if (match := pattern.fullmatch(name)) and is_minor(match[1]))


def _path(link: str) -> str:
    try:
        return urlsplit(link).path
    except ValueError:  # e.g. an unclosed bracket where an IPv6 address is expected
        return ""
