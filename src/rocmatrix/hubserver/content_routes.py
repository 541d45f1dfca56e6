"""Endpoints of files: listings, preupload, commits, downloads."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec
from dulwich.ignore import IgnoreFilter
from dulwich.refs import Ref
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from rocmatrix.hubserver import commits
from rocmatrix.hubserver.entries import Entry, Listing
from rocmatrix.hubserver.exchange import base_of, body_of, caller_of, document_of, hub_of, name_of, revision_of
from rocmatrix.hubserver.names import file_path
from rocmatrix.hubserver.refusals import RefusalError, no_entry
from rocmatrix.hubserver.repository import Repository

_IGNORE = ".gitignore"
_TRUE = {"1", "true", "True"}
_CREATE_PR = "create_pr"
_MOST_PATHS = 10_000
_LONGEST_OFFSET = 19
"""Digits of a position in a file: of 2^63."""


# -- listings ------------------------------------------------------------------------------------------------------


def tree(request: Request) -> Response:
    """``GET /api/<type>/<id>/tree/<revision>[/<folder>]``, a page at a time."""
    query = request.query_params
    folder = unquote(request.path_params.get("path", "")).strip("/")
    after = query.get("cursor", "")
    page = hub_of(request).limits.page
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        listing = repository.listing(revision_of(request))
        rows: list[Entry] = []
        passed = not after
        more = False
        for entry in listing.below(file_path(folder) if folder else "", recursive=query.get("recursive") in _TRUE):
            if not passed:
                passed = entry.path == after
            elif len(rows) == page:
                more = True
                break
            else:
                rows.append(entry)
    headers = {}
    if more:
        following = urlencode({**query, "cursor": rows[-1].path})
        headers["Link"] = f'<{base_of(request)}{request.url.path}?{following}>; rel="next"'
    return JSONResponse([entry.document() for entry in rows], headers=headers)


async def paths_info(request: Request) -> Response:
    """``POST /api/<type>/<id>/paths-info/<revision>``: rows of those paths that exist."""
    try:
        form = parse_qsl((await body_of(request)).decode("utf-8", "replace"), max_num_fields=_MOST_PATHS + 1)
    except ValueError as err:
        raise RefusalError(413, f"at most {_MOST_PATHS} paths in one request") from err
    paths = [value for key, value in form if key == "paths"]
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        listing = repository.listing(revision_of(request))
        return JSONResponse([entry.document() for entry in _existing(listing, paths)])


def _existing(listing: Listing, paths: Iterable[str]) -> Iterable[Entry]:
    for path in paths:
        try:
            yield listing.find(file_path(path))
        except RefusalError as refusal:
            if refusal.code is None:
                raise


# -- uploads -------------------------------------------------------------------------------------------------------


class _File(msgspec.Struct):
    path: str
    size: int
    sample: str = ""


class _Preupload(msgspec.Struct):
    files: list[_File]
    gitIgnore: str | None = None  # noqa: N815 - the wire's spelling


async def preupload(request: Request) -> Response:
    """``POST /api/<type>/<id>/preupload/<revision>``: how each file is to be uploaded, if at all."""
    asked = await document_of(request, _Preupload)
    hub = hub_of(request)
    if len(asked.files) > hub.limits.batch:
        raise RefusalError(413, f"at most {hub.limits.batch} files in one request")
    name, caller = name_of(request), caller_of(request)
    with hub.readable(name, caller) as repository:
        hub.require_writer(name, caller)
        listing = repository.listing(revision_of(request))
        attributes = listing.read_or_nothing(commits.ATTRIBUTES)
        ignore = asked.gitIgnore.encode() if asked.gitIgnore is not None else listing.read_or_nothing(_IGNORE)
        ignored = IgnoreFilter(line for line in ignore.splitlines() if line.strip() and not line.startswith(b"#"))
        rows = [_mode(file, listing, attributes, ignored, hub.limits.regular) for file in asked.files]
    return JSONResponse({"files": rows})


def _mode(file: _File, listing: Listing, attributes: bytes, ignored: IgnoreFilter, regular: int) -> dict[str, object]:
    """A file is large if ``.gitattributes`` says so, if it is long, or if its beginning is binary."""
    path = file_path(file.path)
    try:
        sample = base64.b64decode(file.sample, validate=True)
    except ValueError as err:  # binascii.Error is one, and so is a character that is not ASCII
        raise RefusalError(400, f"the sample of {path!r} is not base64") from err
    large = commits.is_large(attributes, path) or file.size > regular or _is_binary(sample)
    row: dict[str, object] = {
        "path": path,
        "uploadMode": "lfs" if large else "regular",
        "shouldIgnore": any(ignored.is_ignored(part) for part in _parts(path)),
    }
    present = next(iter(_existing(listing, [path])), None)
    if present and not present.folder:
        row["oid"] = present.large.oid if present.large else present.oid
    return row


def _is_binary(sample: bytes) -> bool:
    """Whether the beginning of a file is no text: it has a zero byte or is not UTF-8; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return b"\0" in sample


def _parts(path: str) -> list[str]:
    """Return the path and the folders above it, as ignore patterns name them."""
    parts = path.split("/")
    return [*("/".join(parts[:end]) + "/" for end in range(1, len(parts))), path]


async def commit(request: Request) -> Response:
    """``POST /api/<type>/<id>/commit/<revision>``, or with ``create_pr=1`` a pull request onto it."""
    asked = commits.read_request(await body_of(request))
    as_pull_request = request.query_params.get(_CREATE_PR) in _TRUE
    return await run_in_threadpool(_commit, request, asked, as_pull_request=as_pull_request)


def _commit(request: Request, asked: commits.Request, *, as_pull_request: bool) -> Response:
    hub, name, caller = hub_of(request), name_of(request), caller_of(request)
    with hub.writable(name, caller) as repository:
        branch = repository.branch_reference(revision_of(request))
        number = 0
        if as_pull_request:
            number, branch = _pull_request(repository, branch)
        try:
            commit_id = commits.apply(repository, branch, asked, hub.objects(name), author=caller.name)
        except RefusalError:
            if as_pull_request:
                repository.delete("pr", str(number))
            raise
    address = f"{base_of(request)}/{name.address}"
    document: dict[str, object] = {
        "success": True,
        "commitOid": commit_id,
        "commitUrl": f"{address}/commit/{commit_id}",
        "hookOutput": "",
    }
    if as_pull_request:
        document["pullRequestUrl"] = f"{address}/discussions/{number}"
    return JSONResponse(document)


def _pull_request(repository: Repository, branch: Ref) -> tuple[int, Ref]:
    """Open the next pull request at the head of a branch."""
    number = 1 + max((int(each.name) for each in repository.references("pr") if each.name.isdecimal()), default=0)
    repository.create("pr", str(number), repository.git.refs[branch].decode())
    return number, Ref(f"refs/pr/{number}".encode())


# -- downloads -----------------------------------------------------------------------------------------------------


def resolve(request: Request) -> Response:
    """``HEAD`` and ``GET /<type>/<id>/resolve/<revision>/<path>``; LFS objects in place, with ranges."""
    hub, name = hub_of(request), name_of(request)
    path = unquote(request.path_params["path"])
    with hub.readable(name, caller_of(request)) as repository:
        listing = repository.listing(revision_of(request))
        entry = listing.find(file_path(path))
        if entry.folder:
            raise no_entry(path, listing.commit)
        headers = {"X-Repo-Commit": listing.commit, "Accept-Ranges": "bytes", "Cache-Control": "no-transform"}
        headers["Content-Disposition"] = f"inline; filename*=UTF-8''{quote(entry.path.rpartition('/')[2])}"
        if entry.large is None:
            return _bytes(request, listing.read(entry), {**headers, "ETag": f'"{entry.oid}"'})
        stored = hub.objects(name).path(entry.large.oid)
        if not stored.is_file():
            raise RefusalError(404, f"the LFS object {entry.large.oid} of {path!r} is missing")
        linked = {"X-Linked-Size": str(entry.size), "X-Linked-ETag": f'"{entry.large.oid}"'}
        return FileResponse(stored, headers={**headers, **linked, "ETag": f'"{entry.large.oid}"'})


def _is_offset(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_OFFSET


def _bytes(request: Request, content: bytes, headers: dict[str, str]) -> Response:
    """Answer with a small file, or with the end of it that a client still lacks."""
    media = "application/octet-stream"
    unit, _, span = request.headers.get("range", "").partition("=")
    first, _, last = span.partition("-")
    if unit != "bytes" or not _is_offset(first) or (last and not _is_offset(last)):
        return Response(content, headers=headers, media_type=media)
    start, end = int(first), min(int(last) if last else len(content) - 1, len(content) - 1)
    if start > end:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{len(content)}"})
    headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
    return Response(content[start : end + 1], status_code=206, headers=headers, media_type=media)
