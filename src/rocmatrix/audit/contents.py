"""Reader of the bytes of a variant: credentials, paths of the build machine, Python sources, the signature bundle.

Every file is read once in blocks, so that memory does not grow with it; nothing is executed or decompressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rocmatrix.audit.binary_file import MAX_FILE
from rocmatrix.audit.client_metadata import metadata_problem
from rocmatrix.audit.content_facts import Contents, FoundPath, FoundSecret, Fp8Flavour, PythonFile
from rocmatrix.audit.facts import VariantFacts
from rocmatrix.audit.policy_data import BuildRoot, BytesPolicy, SecretFormat
from rocmatrix.audit.python_source import read_python
from rocmatrix.audit.signature import read_signature
from rocmatrix.document import encodable
from rocmatrix.metadata import METADATA_NAME, SIGNATURE_NAME

BLOCK = 1 << 23
"""Bytes that are searched at once."""
OVERLAP = 1 << 12
"""Bytes of a block that are searched again with the next one: longer than any token or path."""
MAX_FOUND = 1000
"""Places of one file that are kept; whoever has more has one problem."""
MAX_PLACES = 500_000
"""Places that begin as a credential or a path does, in all files together, that are looked at: some seconds of work."""
MAX_PYTHON = 1 << 22
"""Bytes of all Python sources together that are parsed."""
LONGEST_PATH = 200
"""Characters of a path that are shown."""

_PART = rb"[A-Za-z0-9_.+@~-]+"
_INSIDE_A_PATH = re.compile(rb"[A-Za-z0-9_.+@~:/-]\Z")
_FP8 = re.compile(rb"torch\.float8_e(?:4m3fn|5m2)(uz|fnuz)?(?![A-Za-z0-9_])")
_FP8_START = b"torch.float8_e"
"""Names of dtypes as authors write them into messages; the tables of all of them in torch's headers lack ``torch.``."""


def read_contents(root: Path, facts: VariantFacts, policy: BytesPolicy, *, python: str) -> Contents:
    """Return what the bytes of a variant's files say.

    Args:
        root: the directory, or the single shared object.
        facts: what was read of it before; its files are the ones that are searched.
        policy: what to look for.
        python: lowest Python that must read the sources, e.g. ``3.9``.
    """
    if not facts.folder:
        name = encodable(root.name)
        return _searched([(name, root)], policy, shared={name})
    paths = [(file.path, root / file.path) for file in facts.files]
    paths += [(name, root / name) for name in (METADATA_NAME, SIGNATURE_NAME) if _regular(root, name)]
    found = _searched(paths, policy, shared={binary.path for binary in facts.binaries})
    sources = tuple(_python(paths, dict(found.sizes), python=python))
    return Contents(
        sizes=found.sizes,
        secrets=found.secrets,
        build_paths=found.build_paths,
        unsearched=found.unsearched,
        host_fp8=found.host_fp8,
        python=sources,
        signature=read_signature(root),
        metadata_problem=metadata_problem(root / METADATA_NAME) if _regular(root, METADATA_NAME) else None,
    )


def _python(paths: Iterable[tuple[str, Path]], sizes: dict[str, int], *, python: str) -> Iterator[PythonFile]:
    """Give what each Python source says, as far as all of them together are of a size that people write."""
    total = 0
    for name, path in paths:
        if name.endswith(".py"):
            total += sizes.get(name, 0)
            if total > MAX_PYTHON:
                yield PythonFile(path=name, problem=f"with it the sources have more than {MAX_PYTHON} bytes")
            else:
                yield read_python(path, name, python=python)


def _regular(root: Path, name: str) -> bool:
    path = root / name
    return path.is_file() and path.resolve().is_relative_to(root.resolve())


def _searched(paths: Iterable[tuple[str, Path]], policy: BytesPolicy, *, shared: set[str]) -> Contents:
    search = _Search(policy)
    sizes, flavours = [], []
    for name, path in paths:
        try:
            if path.stat().st_size > MAX_FILE:
                continue  # nobody reads it, which the reader of the variant has said already
            size, names = search.file(name, path)
        except OSError:
            continue  # the reader of the variant has said so already
        sizes.append((name, size))
        if name in shared:
            flavours.append((name, frozenset(names)))
    return Contents(
        sizes=tuple(sizes),
        secrets=tuple(search.secrets),
        build_paths=tuple(search.paths),
        unsearched=tuple(search.unsearched),
        host_fp8=tuple(flavours),
    )


class _Search:
    """One pass over the bytes of several files."""

    def __init__(self, policy: BytesPolicy) -> None:
        self.secrets: list[FoundSecret] = []
        self.paths: list[FoundPath] = []
        self.unsearched: list[tuple[str, int]] = []
        self._left = MAX_PLACES
        self._formats: dict[bytes, list[tuple[SecretFormat, re.Pattern[bytes]]]] = {}
        for form in policy.secrets:
            pattern = re.compile(form.pattern.encode())
            for prefix in form.prefixes:
                self._formats.setdefault(prefix.encode(), []).append((form, pattern))
        self._roots = {root.path.encode(): (root, re.compile(_path_pattern(root))) for root in policy.roots}
        starts = [*self._formats, *self._roots, _FP8_START]
        self._any = re.compile(b"|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True)))

    def file(self, name: str, path: Path) -> tuple[int, set[Fp8Flavour]]:
        """Search a file; return its size and the flavours of FP8 that it names.

        Raises:
            OSError: it cannot be read.
        """
        seen: dict[str, FoundPath] = {}
        flavours: set[Fp8Flavour] = set()
        secrets = 0
        size = 0
        for start, block, limit in _blocks(path):
            size = start + len(block)
            for hit in self._any.finditer(block) if self._left else ():
                if hit.start() >= limit:
                    break
                self._left -= 1
                if not self._left:
                    self.unsearched.append((name, start + hit.start()))
                    break
                if hit[0] == _FP8_START:
                    flavours |= _flavour(block, hit.start())
                elif hit[0] in self._roots:
                    self._path(block, hit, name, start, seen)
                elif secrets < MAX_FOUND and (secret := self._secret(block, hit, name, start)):
                    self.secrets.append(secret)
                    secrets += 1
        self.paths += seen.values()
        return size, flavours

    def _secret(self, block: bytes, hit: re.Match[bytes], name: str, start: int) -> FoundSecret | None:
        place = hit.start()
        if block[max(0, place - 1) : place].isalnum():
            return None
        for form, pattern in self._formats[hit[0]]:
            found = pattern.match(block, place)
            if found and _credible(found[0], form):
                return FoundSecret(path=name, offset=start + place, kind=form.name, shown=hit[0].decode())
        return None

    def _path(self, block: bytes, hit: re.Match[bytes], name: str, start: int, seen: dict[str, FoundPath]) -> None:
        place = hit.start()
        root, pattern = self._roots[hit[0]]
        found = None if _INSIDE_A_PATH.search(block[max(0, place - 1) : place]) else pattern.match(block, place)
        if not found:
            return
        text = found[0][:LONGEST_PATH].decode("ascii")
        folder = "/".join(text.split("/")[: root.path.count("/") + 1])
        earlier = seen.get(folder)
        if earlier is not None:
            seen[folder] = replace(earlier, count=earlier.count + 1)
        elif len(seen) < MAX_FOUND:
            seen[folder] = FoundPath(path=name, offset=start + place, text=text, count=1)


def _path_pattern(root: BuildRoot) -> bytes:
    return re.escape(root.path.encode()) + _PART + (rb"/" + _PART) * (root.parts - 1) + rb"(?:/" + _PART + rb")*"


def _credible(found: bytes, form: SecretFormat) -> bool:
    """Return whether a match is more than a placeholder or a documented example."""
    return len(set(found)) >= form.varied and found.decode("latin-1") not in form.exceptions


def _flavour(block: bytes, place: int) -> set[Fp8Flavour]:
    found = _FP8.match(block, place)
    if not found:
        return set()
    return {Fp8Flavour.FNUZ if found[1] else Fp8Flavour.OCP}


def _blocks(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Give offset and bytes of overlapping blocks, and up to where in it a match may begin."""
    with path.open("rb") as stream:
        start, block = 0, stream.read(BLOCK)
        while following := stream.read(BLOCK):
            yield start, block + following[:OVERLAP], len(block)
            start, block = start + len(block), following
        yield start, block, len(block)
