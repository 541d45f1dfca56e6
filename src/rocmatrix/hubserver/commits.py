"""A commit through the API: operations on top of a branch's head, all of them or none."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from dulwich.attrs import compile_gitattributes_patterns, match_path, parse_git_attributes
from dulwich.index import commit_tree
from dulwich.lfs import LFSPointer
from dulwich.object_store import iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import Ref

from rocmatrix.hubserver.entries import commit_of, content_of
from rocmatrix.hubserver.large_objects import LargeObjects
from rocmatrix.hubserver.names import file_path, object_id
from rocmatrix.hubserver.recent_objects import add_objects
from rocmatrix.hubserver.refusals import RefusalError
from rocmatrix.hubserver.repository import IDENTITY, Repository

_FILE_MODE = 0o100644
ATTRIBUTES = ".gitattributes"
_SHORTEST_PARENT = 5
"""Digits of a commit's id in ``parentCommit`` (huggingface_hub 2.4.0, ``REGEX_COMMIT_OID``)."""
_LARGE = "filter=lfs diff=lfs merge=lfs -text"


class _Value(msgspec.Struct):
    """Every key that an operation's ``value`` can have (huggingface_hub 2.4.0, ``_commit_api.py``)."""

    path: str = ""
    content: str = ""
    encoding: str = "base64"
    algo: str = "sha256"
    oid: str = ""
    size: int | None = None
    summary: str = ""
    description: str = ""
    parentCommit: str | None = None  # noqa: N815 - the wire's spelling


class _Line(msgspec.Struct):
    key: str
    value: _Value


@dataclass(kw_only=True)
class Request:
    """What a client wants to commit.

    Attributes:
        message: first line and description.
        parent: what the branch's head has to be; ``None`` for whatever it is.
        files: path -> bytes of a file in git.
        large: path -> SHA-256 and, if it was said, size of a file in LFS.
        deleted: paths of files.
        deleted_folders: paths of folders, without a slash at the end.
    """

    message: str = ""
    parent: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    large: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    deleted_folders: set[str] = field(default_factory=set)


def read_request(body: bytes) -> Request:
    """Read the lines of ``POST …/commit/<revision>``.

    Raises:
        RefusalError: a line is not what it should be.
    """
    request = Request()
    for number, text in enumerate(body.splitlines(), 1):
        try:
            line = msgspec.json.decode(text, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as err:
            raise RefusalError(400, f"line {number} of the commit: {err}") from err
        _add(request, line, number)
    if not request.message or "\0" in request.message:
        raise RefusalError(400, "a commit begins with a header that has a summary, without a zero byte")
    if request.parent is not None and len(request.parent) < _SHORTEST_PARENT:
        raise RefusalError(400, f"parentCommit has at least {_SHORTEST_PARENT} digits")
    return request


def _add(request: Request, line: _Line, number: int) -> None:
    value = line.value
    if line.key == "header":
        request.message = "\n\n".join(part for part in (value.summary, value.description) if part)
        request.parent = value.parentCommit
    elif line.key == "file":
        try:
            request.files[file_path(value.path)] = base64.b64decode(value.content, validate=True)
        except ValueError as err:  # binascii.Error is one, and so is a character that is not ASCII
            raise RefusalError(400, f"line {number} of the commit: the content is not base64") from err
    elif line.key == "lfsFile":
        request.large[file_path(value.path)] = (object_id(value.oid), value.size)
    elif line.key == "deletedFile":
        request.deleted.add(file_path(value.path))
    elif line.key == "deletedFolder":
        request.deleted_folders.add(file_path(value.path.rstrip("/")))
    else:
        raise RefusalError(400, f"line {number} of the commit: no operation {line.key!r}")


def apply(repository: Repository, branch: Ref, request: Request, objects: LargeObjects, *, author: str) -> str:
    """Commit to a branch, if its head is still what it was when this began.

    Returns:
        the new head.

    Raises:
        RefusalError: 412, if the head is another one than the client said, or moved meanwhile; 400 or 404 for
            operations that cannot be.
    """
    git = repository.git
    head = git.refs[branch]
    if request.parent is not None and not head.decode().startswith(request.parent.lower()):
        raise RefusalError(
            412, f"A commit has happened since. Please refresh and try again. The head is {head.decode()}."
        )
    paths = _tree(repository, head, request, objects)
    commit = Commit()
    commit.tree = commit_tree(git.object_store, [(path, *entry) for path, entry in paths.items()])
    commit.parents, commit.message = [head], request.message.encode() + b"\n"
    commit.author, commit.committer = f"{author} <{author}@localhost>".encode(), IDENTITY
    commit.author_time = commit.commit_time = int(time.time())
    commit.author_timezone = commit.commit_timezone = 0
    git.object_store.add_object(commit)
    if not git.refs.set_if_equals(branch, head, commit.id):
        raise RefusalError(412, "Another commit came first. Please refresh and try again.")
    return commit.id.decode()


def _tree(
    repository: Repository, head: ObjectID, request: Request, objects: LargeObjects
) -> Mapping[bytes, tuple[ObjectID, int]]:
    """Return path -> object and mode after all operations, objects written."""
    git = repository.git
    paths = {
        item.path: (item.sha, item.mode) for item in iter_tree_contents(git.object_store, commit_of(git, head).tree)
    }
    for path in request.deleted:
        if paths.pop(path.encode(), None) is None:
            raise RefusalError(404, f"a file {path!r} that is to be deleted does not exist")
    for folder in request.deleted_folders:
        inside = folder.encode() + b"/"
        paths = {path: entry for path, entry in paths.items() if not path.startswith(inside)}
    contents = {**request.files, **_pointers(request, objects)}
    attributes = _attributes(contents.get(ATTRIBUTES, _existing(repository, paths)), request.large)
    if request.large and attributes is not None:
        contents[ATTRIBUTES] = attributes
    blobs = {path: Blob.from_string(content) for path, content in contents.items()}
    add_objects(git, blobs.values())
    paths.update({path.encode(): (blob.id, _FILE_MODE) for path, blob in blobs.items()})
    _require_folders(paths)
    return paths


def _require_folders(paths: Mapping[bytes, object]) -> None:
    """Refuse a path that would be a file and a folder at once: git would write a tree that it cannot read."""
    for path in paths:
        parts = path.split(b"/")
        for end in range(1, len(parts)):
            if b"/".join(parts[:end]) in paths:
                raise RefusalError(400, f"{path.decode('utf-8', 'replace')!r} lies below a file")


def _pointers(request: Request, objects: LargeObjects) -> dict[str, bytes]:
    pointers = {}
    for path, (oid, size) in request.large.items():
        if not objects.has(oid):
            raise RefusalError(400, f"the LFS object {oid} of {path!r} was not uploaded")
        if size not in {None, objects.size(oid)}:
            raise RefusalError(400, f"the LFS object {oid} of {path!r} has {objects.size(oid)} bytes, not {size}")
        pointers[path] = LFSPointer(oid, objects.size(oid)).to_bytes()
    return pointers


def _existing(repository: Repository, paths: Mapping[bytes, tuple[ObjectID, int]]) -> bytes:
    entry = paths.get(ATTRIBUTES.encode())
    return content_of(repository.git, entry[0]) if entry else b""


def is_large(attributes: bytes, path: str) -> bool:
    """Whether ``.gitattributes`` puts a path into LFS."""
    patterns = compile_gitattributes_patterns(parse_git_attributes(io.BytesIO(attributes)))
    return match_path(patterns, path.encode()).get(b"filter") == b"lfs"


def _attributes(content: bytes, large: Iterable[str]) -> bytes | None:
    """Return ``.gitattributes`` that puts these paths into LFS; ``None`` if it already does."""
    missing = [path for path in sorted(large) if not is_large(content, path)]
    if not missing:
        return None
    if content and not content.endswith(b"\n"):
        content += b"\n"
    return content + "".join(f"{path.replace(' ', '[[:space:]]')} {_LARGE}\n" for path in missing).encode()
