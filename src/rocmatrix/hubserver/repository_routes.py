"""Endpoints of repositories and their references: create, delete, info, branches, tags, commits."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
from dulwich.objects import ObjectID
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rocmatrix.hubserver.entries import commit_of
from rocmatrix.hubserver.exchange import base_of, caller_of, document_of, hub_of, name_of, revision_of
from rocmatrix.hubserver.names import RepoName, RepoType, repo_name
from rocmatrix.hubserver.refusals import RefusalError
from rocmatrix.hubserver.repository import Repository

_MAIN = "main"
_COMMITS = 1000


class _Creation(msgspec.Struct):
    name: str
    organization: str | None = None
    type: str | None = None
    visibility: str = "public"
    private: bool = False


class _Branch(msgspec.Struct):
    startingPoint: str | None = None  # noqa: N815 - the wire's spelling


class _Tag(msgspec.Struct):
    tag: str
    message: str | None = None


def date(seconds: float) -> str:
    """Return a date as huggingface_hub 2.4.0 parses it: exactly ``%Y-%m-%dT%H:%M:%S.%fZ``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


async def _named(request: Request, creation: _Creation) -> RepoName:
    caller = caller_of(request)
    namespace = creation.organization or (caller.user.name if caller.user else "anonymous")
    return repo_name(RepoType.named(creation.type), namespace, creation.name)


async def create(request: Request) -> Response:
    """``POST /api/repos/create``."""
    creation = await document_of(request, _Creation)
    name = await _named(request, creation)
    url = f"{base_of(request)}/{name.address}"
    private = creation.private or creation.visibility != "public"
    try:
        hub_of(request).create(name, caller_of(request), private=private)
    except RefusalError as refusal:
        refusal.document["url"] = url  # exist_ok reads it
        raise
    return JSONResponse({"url": url, "name": str(name)})


async def delete(request: Request) -> Response:
    """``DELETE /api/repos/delete``."""
    creation = await document_of(request, _Creation)
    hub_of(request).delete(await _named(request, creation), caller_of(request))
    return JSONResponse({})


def info(request: Request) -> Response:
    """``GET /api/<type>/<id>`` and ``GET /api/<type>/<id>/revision/<revision>``."""
    revision = revision_of(request) if "revision" in request.path_params else _MAIN
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        listing = repository.listing(revision)
        commit = commit_of(repository.git, ObjectID(listing.commit.encode()))
        files = [entry.path for entry in listing.below("", recursive=True) if not entry.folder]
        return JSONResponse(
            {
                "id": str(repository.name),
                "author": repository.name.namespace,
                "sha": listing.commit,
                "lastModified": date(commit.commit_time),
                "createdAt": date(repository.settings.created),
                "private": repository.settings.private,
                "gated": False,
                "disabled": False,
                "downloads": 0,
                "likes": 0,
                "tags": [],
                "siblings": [{"rfilename": path} for path in files],
            }
        )


def references(request: Request) -> Response:
    """``GET /api/<type>/<id>/refs``."""
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        document: dict[str, object] = {"converts": []}
        kinds = {"branches": "heads", "tags": "tags"}
        if request.query_params.get("include_prs"):
            kinds["pullRequests"] = "pr"
        for key, folder in kinds.items():
            found = repository.references(folder)
            document[key] = [{"name": each.name, "ref": each.full, "targetCommit": each.commit} for each in found]
        return JSONResponse(document)


async def create_branch(request: Request) -> Response:
    """``POST /api/<type>/<id>/branch/<branch>``."""
    branch = await document_of(request, _Branch)
    with hub_of(request).writable(name_of(request), caller_of(request)) as repository:
        repository.create("heads", revision_of(request), branch.startingPoint or _MAIN)
    return JSONResponse({})


def delete_branch(request: Request) -> Response:
    """``DELETE /api/<type>/<id>/branch/<branch>``."""
    with hub_of(request).writable(name_of(request), caller_of(request)) as repository:
        repository.delete("heads", revision_of(request))
    return JSONResponse({})


async def create_tag(request: Request) -> Response:
    """``POST /api/<type>/<id>/tag/<revision>``: with a message an annotated one."""
    tag = await document_of(request, _Tag)
    with hub_of(request).writable(name_of(request), caller_of(request)) as repository:
        if tag.message:
            repository.create_annotated_tag(tag.tag, revision_of(request), tag.message)
        else:
            repository.create("tags", tag.tag, revision_of(request))
    return JSONResponse({})


def delete_tag(request: Request) -> Response:
    """``DELETE /api/<type>/<id>/tag/<tag>``."""
    with hub_of(request).writable(name_of(request), caller_of(request)) as repository:
        repository.delete("tags", revision_of(request))
    return JSONResponse({})


def commits(request: Request) -> Response:
    """``GET /api/<type>/<id>/commits/<revision>``: the newest first."""
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        return JSONResponse(_history(repository, repository.resolve(revision_of(request))))


def _history(repository: Repository, commit: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for entry in repository.git.get_walker(include=[ObjectID(commit.encode())], max_entries=_COMMITS):
        title, _, message = entry.commit.message.decode("utf-8", "replace").partition("\n")
        author = entry.commit.author.decode("utf-8", "replace").partition(" <")[0]
        rows.append(
            {
                "id": entry.commit.id.decode(),
                "title": title,
                "message": message.strip(),
                "authors": [{"user": author}],
                "date": date(min(entry.commit.commit_time, time.time())),
            }
        )
    return rows
