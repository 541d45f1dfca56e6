"""What an index of Python packages has: the files of a version with their SHA-256 (PEP 503 and PEP 691)."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.pinning.web import Web

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_FOREIGN = re.compile(r"win32|win_amd64|win_arm64|macosx|aarch64|i686|ppc64le|s390x|musllinux")


def hashes_of(web: Web, index: str, name: str, version: str) -> tuple[str, ...]:
    """Return the SHA-256 of each file of a version that Linux on x86-64 could take, in order.

    Raises:
        MissingRequirementError: the index cannot be reached, lacks the version, or states no SHA-256 for a file of it.
    """
    project = re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower()
    url = f"{index.rstrip('/')}/{project}/"
    answer = web.answer(url, {"Accept": _ACCEPT})
    if "json" in answer.headers.get("Content-Type", ""):
        files = {one["filename"]: one.get("hashes", {}).get("sha256") for one in json.loads(answer.content)["files"]}
    else:
        page = _Links()
        page.feed(answer.content.decode("utf-8", "replace"))
        files = dict(_linked(urljoin(url, link)) for link in page.found)
    wanted = {file: sha for file, sha in files.items() if _is(file, project, version) and not _FOREIGN.search(file)}
    if not wanted:
        raise MissingRequirementError(
            f"the index has no {name} {version} for Linux on x86-64", where=url, fix="Choose a version that it has."
        )
    if bare := [file for file, sha in wanted.items() if not sha]:
        raise MissingRequirementError(
            f"the index states no SHA-256 for {bare[0]}",
            where=url,
            fix="Name a mirror that does in pins.toml; a file without one cannot be pinned.",
        )
    return tuple(sorted(str(sha) for sha in wanted.values()))


class _Links(HTMLParser):
    """Collects the addresses of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _linked(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    found = re.search(r"sha256=([0-9a-f]{64})", parts.fragment)
    return unquote(parts.path.rpartition("/")[2]), found and found[1]


def _is(file: str, project: str, version: str) -> bool:
    """Whether a file is of a project's version: ``name-version-…whl`` or ``name-version.tar.gz``."""
    stem, _, rest = file.partition("-")
    while rest and re.sub(r"[-_.]+", "-", stem).lower() != project:
        more, _, rest = rest.partition("-")
        stem = f"{stem}-{more}"
    return rest.startswith(f"{version}-") or rest in (f"{version}.tar.gz", f"{version}.zip")
