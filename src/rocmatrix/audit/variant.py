"""Reader of variants: a directory that the ``kernels`` client loads, or a single shared object.

Nothing of the variant is executed, links that lead out of it are not followed, and no file is waited for.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rocmatrix.audit.binary_file import MAX_FILE, is_machine_code, read_machine_code
from rocmatrix.audit.facts import Binary, DeviceFile, MetadataFacts, OpsFacts, Unreadable, VariantFacts, VariantFile
from rocmatrix.binary.facts import UnreadableError
from rocmatrix.digest import Digest
from rocmatrix.metadata import METADATA_NAME, is_hashed
from rocmatrix.plan.extension import OPS_NAME

READERS_VERSION = 3
"""Counted up whenever more or something else is read of the same bytes; earlier audits are then done again."""
MAX_TEXT = 1 << 20
"""Bytes of ``metadata.json`` that are read at most."""
MAX_OPS = 1 << 16
"""Bytes of ``_ops.py`` that are read at most; the generated ones have some hundred."""
MAX_FILES = 10_000
"""Files of one variant that are read at most."""
MAX_DEPTH = 100
"""Folders within folders that are entered at most; Python packages have some three."""
LONGEST_PATH = 4095
"""Bytes of a path that Linux opens at most: PATH_MAX without its closing zero. Deeper folders exist all the same."""
_SHOWN = 100
"""Characters of a path that is refused that are shown."""
_BLOCK = 1 << 20


def read_folder(folder: Path, machines: Mapping[int, str]) -> VariantFacts:
    """Return what a variant directory holds.

    Args:
        folder: the directory.
        machines: machine number of a code object's ELF flags -> processor.
    """
    files: list[VariantFile] = []
    machine_code: list[Binary | DeviceFile] = []
    unreadable: list[Unreadable] = []
    listing = _walk(folder)
    paths = listing.paths
    for name in paths:
        try:
            if is_hashed(name):
                files.append(_digests(folder, name))
            if is_machine_code(folder / name):
                machine_code.append(read_machine_code(folder / name, name, machines))
        except (OSError, UnreadableError) as err:
            unreadable.append(Unreadable(path=name, what=_reason(err)))
    metadata, ops = None, None
    try:
        metadata = _metadata(folder / METADATA_NAME) if METADATA_NAME in paths else None
    except (OSError, UnreadableError) as err:
        unreadable.append(Unreadable(path=METADATA_NAME, what=_reason(err)))
    try:
        ops = _ops(folder / OPS_NAME) if OPS_NAME in paths else None
    except (OSError, UnreadableError) as err:
        unreadable.append(Unreadable(path=OPS_NAME, what=_reason(err)))
    return VariantFacts(
        folder=True,
        files=tuple(files),
        binaries=tuple(found for found in machine_code if isinstance(found, Binary)),
        device_files=tuple(found for found in machine_code if isinstance(found, DeviceFile)),
        unreadable=tuple(unreadable),
        metadata=metadata,
        ops=ops,
        strays=tuple(listing.strays),
        refused=tuple(listing.refused),
    )


def read_file(path: Path, machines: Mapping[int, str]) -> VariantFacts:
    """Return what a single shared object, or a single file of GPU code, holds, whatever its name is."""
    try:
        found = read_machine_code(path, path.name, machines)
    except (OSError, UnreadableError) as err:
        return VariantFacts(folder=False, unreadable=(Unreadable(path=path.name, what=_reason(err)),))
    if isinstance(found, DeviceFile):
        return VariantFacts(folder=False, device_files=(found,))
    return VariantFacts(folder=False, binaries=(found,))


@dataclass(kw_only=True)
class _Listing:
    """What lies below a folder, as sorted paths: regular files, what is neither file nor folder of it, and the rest."""

    paths: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    refused: list[Unreadable] = field(default_factory=list)

    def refuse(self, name: str, what: str) -> None:
        """Note that something is not looked at; of a long name only the beginning is told."""
        shown = _printable(name[:_SHOWN] + "..." * (len(name) > _SHOWN))
        self.refused.append(Unreadable(path=shown, what=f"{shown}: {what}"))


def _walk(folder: Path) -> _Listing:
    """Return what lies below a folder; a folder that cannot be listed counts as a stray."""
    root = os.path.realpath(folder)
    found = _Listing()

    def unlisted(err: OSError) -> None:
        found.strays.append(_printable(os.path.relpath(str(err.filename), root)))

    for parent, folders, names in os.walk(root, onerror=unlisted):
        inside = Path(parent).relative_to(root)
        if len(inside.parts) >= MAX_DEPTH and folders:
            found.refuse(inside.as_posix(), f"folders are nested more than {MAX_DEPTH} deep")
            folders.clear()
        for entry in [name for name in (*folders, *names) if len(os.fsencode(f"{parent}/{name}")) > LONGEST_PATH]:
            found.refuse(
                (inside / entry).as_posix(), f"with the folders around it the path has over {LONGEST_PATH} bytes"
            )
            (folders if entry in folders else names).remove(entry)
        for entry in [*names, *(name for name in folders if (Path(parent) / name).is_symlink())]:
            _place(found, Path(parent) / entry, (inside / entry).as_posix(), root)
        if len(found.paths) + len(found.strays) + len(found.refused) > MAX_FILES:
            found.refuse(".", f"there are more than {MAX_FILES} files, and the rest was not read")
            break
    found.paths.sort()
    found.strays.sort()
    found.refused.sort(key=lambda file: file.path)
    return found


def _place(found: _Listing, path: Path, name: str, root: str) -> None:
    """Put one entry where it belongs."""
    target = Path(os.path.realpath(path))
    if _printable(name) != name:
        found.refuse(name, "the name is not UTF-8")
    elif target.is_relative_to(root) and target.is_file():
        found.paths.append(name)
    else:
        found.strays.append(name)


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def _digests(folder: Path, name: str) -> VariantFile:
    sha256, sha512, size = hashlib.sha256(), hashlib.sha512(), 0
    if (claimed := (folder / name).stat().st_size) > MAX_FILE:
        raise UnreadableError(f"the file has {claimed} bytes, more than the {MAX_FILE} that are read")
    with (folder / name).open("rb") as stream:
        while block := stream.read(_BLOCK):
            sha256.update(block)
            sha512.update(block)
            size += len(block)
    encoded = {made.name: base64.b64encode(made.digest()).decode() for made in (sha256, sha512)}
    return VariantFile(path=name, size=size, digest=Digest(f"sha256:{sha256.hexdigest()}"), client_digest=encoded)


class _Backend(msgspec.Struct):
    archs: list[str] | None = None


class _Digest(msgspec.Struct):
    algorithm: str
    files: dict[str, str]


class _Metadata(msgspec.Struct):
    """The part of metadata.json that rules look at; keys of others are ignored, as the client does."""

    name: str
    id: str
    backend: _Backend
    digest: _Digest | None = None


def _metadata(path: Path) -> MetadataFacts:
    text = _text(path, MAX_TEXT)
    try:
        read = msgspec.json.decode(text, type=_Metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise UnreadableError(f"this is not the metadata that the client reads: {err}") from err
    return MetadataFacts(
        name=read.name,
        id=read.id,
        archs=tuple(read.backend.archs or ()),
        algorithm=read.digest.algorithm if read.digest else None,
        digests=read.digest.files if read.digest else {},
    )


def _ops(path: Path) -> OpsFacts:
    """Return what ``_ops.py`` imports from its package and which ``torch.ops`` namespaces it names."""
    try:
        tree = ast.parse(_text(path, MAX_OPS))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        raise UnreadableError("this is not Python") from err
    imports: list[str] = []
    namespaces: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            imports += [node.module] if node.module else [alias.name for alias in node.names]
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="torch"), attr="ops"), attr=namespace):
                namespaces.add(namespace)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith("::"):
            namespaces.add(node.value.removesuffix("::"))
    return OpsFacts(imports=tuple(imports), namespaces=tuple(sorted(namespaces)))


def _text(path: Path, limit: int) -> bytes:
    with path.open("rb") as stream:
        text = stream.read(limit + 1)
    if len(text) > limit:
        raise UnreadableError(f"the file is larger than {limit} bytes")
    return text


def _reason(err: OSError | UnreadableError) -> str:
    return f"the file cannot be read: {err.strerror}" if isinstance(err, OSError) else str(err)
