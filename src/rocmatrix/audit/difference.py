"""What differs between two artifacts: symbols, libraries, archs, the kernels' registers and memory, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.audit.kernel_audit import AuditSet
from rocmatrix.audit.path import PathAudit
from rocmatrix.audit.rules import UNREADABLE
from rocmatrix.binary.facts import CodeObject
from rocmatrix.binary.kernel_facts import Kernel
from rocmatrix.records import BinaryFacts, DeviceFileFacts

DIFFERENCE_SCHEMA = 1

_File = BinaryFacts | DeviceFileFacts
_KernelKey = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class ListChange:
    """What a list has that it did not have before, and the other way round; both sorted.

    Attributes:
        name: of the list, e.g. ``NEEDED``.
    """

    name: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ValueChange:
    """A value that is another one now; numbers as text, ``unknown`` for what could not be read."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class KernelChange:
    """What changed in a kernel that both artifacts have for an arch."""

    kernel: str
    arch: str
    values: tuple[ValueChange, ...]


@dataclass(frozen=True, kw_only=True)
class FileDifference:
    """What differs between two files that stand for each other.

    Attributes:
        before: path of the earlier one within its artifact.
        after: of the later one.
        values: size in bytes and properties of the ELF file.
        lists: archs, libraries, versions, symbols, kernels.
        kernels: those that both have and that changed.
    """

    before: str
    after: str
    values: tuple[ValueChange, ...]
    lists: tuple[ListChange, ...]
    kernels: tuple[KernelChange, ...]


@dataclass(frozen=True, kw_only=True)
class UnreadFile:
    """A file that could not be compared.

    Attributes:
        side: path of the artifact that it is in, as it was given.
        path: within that artifact.
        why: what the reader says.
    """

    side: str
    path: str
    why: str


@dataclass(frozen=True, kw_only=True)
class AuditDifference:
    """What ``rocmatrix audit A --against B`` prints with ``--json``: B is what was before, A what is after.

    Attributes:
        same: whether all could be compared and nothing below differs; the bytes may.
        compared: pairs of files that were compared, also where nothing differs.
        files: those that differ.
        removed: files, or variants, that only B has; ``added``: that only A has.
        unread: files of either side that could not be read; what stands for them on the other side is in no list.
    """

    schema: int = DIFFERENCE_SCHEMA
    before: str
    after: str
    same: bool
    compared: int
    files: tuple[FileDifference, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    unread: tuple[UnreadFile, ...] = ()


def difference(after: AuditSet, before: AuditSet) -> AuditDifference:
    """Return what differs; variants stand for each other by name, a lone one for a lone one whatever its name."""
    new, old = _by_variant(after), _by_variant(before)
    if len(new) == len(old) == 1:
        new, old = {"": next(iter(new.values()))}, {"": next(iter(old.values()))}
    files: list[FileDifference] = []
    compared = 0
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    for variant in sorted(new.keys() & old.keys()):
        pairs, more, less = _pairs(_files(new[variant]), _files(old[variant]))
        more, less = _known(more, old[variant]), _known(less, new[variant])
        prefix = f"{variant}/" if variant else ""
        compared += len(pairs)
        files += [found for a, b in pairs if _differs(found := _compare(a, b, prefix))]
        added += [prefix + path for path in more]
        removed += [prefix + path for path in less]
    unread = tuple(found for side in (before, after) for found in _unread(side))
    return AuditDifference(
        before=before.path,
        after=after.path,
        same=not (files or added or removed or unread),
        compared=compared,
        files=tuple(files),
        removed=tuple(sorted(removed)),
        added=tuple(sorted(added)),
        unread=unread,
    )


def _unread(side: AuditSet) -> Iterator[UnreadFile]:
    for audited in side.audits:
        for finding in audited.findings:
            if finding.rule == UNREADABLE:
                yield UnreadFile(side=audited.path, path=finding.where, why=finding.what)


def _known(alone: list[str], other: PathAudit) -> list[str]:
    """Return files that only one side has, without those that stand for a file that the other side has unread."""
    unread = {finding.where for finding in other.findings if finding.rule == UNREADABLE}
    left = [path for path in alone if path not in unread]
    return [] if len(left) == len(alone) == len(unread) == 1 else left


def _by_variant(audited: AuditSet) -> dict[str, PathAudit]:
    return {Path(one.path).name: one for one in audited.audits}


def _files(audited: PathAudit) -> dict[str, _File]:
    files: list[_File] = [*audited.binaries, *audited.device_files]
    return {file.path: file for file in files}


def _pairs(new: dict[str, _File], old: dict[str, _File]) -> tuple[list[tuple[_File, _File]], list[str], list[str]]:
    """Return files that stand for each other, by path or because each side has one left, and those that do not."""
    pairs = [(new[path], old[path]) for path in sorted(new.keys() & old.keys())]
    more, less = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    if len(more) == len(less) == 1:
        return [*pairs, (new[more[0]], old[less[0]])], [], []
    return pairs, more, less


def _differs(found: FileDifference) -> bool:
    return bool(found.values or found.lists or found.kernels)


def _compare(new: _File, old: _File, prefix: str) -> FileDifference:
    values = [*_changed((("size", old.size, new.size),))]
    lists = [_list("archs", _archs(new), _archs(old))]
    if isinstance(new, BinaryFacts) and isinstance(old, BinaryFacts):
        values += _elf_values(new, old)
        lists += [
            _list("NEEDED", new.needed, old.needed),
            _list("version needs", _versions(new), _versions(old)),
            _list("symbols asked for", (one.name for one in new.undefined), (one.name for one in old.undefined)),
            _list("symbols offered", new.exports, old.exports),
        ]
    kernels, earlier = _kernels(new), _kernels(old)
    lists.append(_list("kernels", map(_kernel_name, kernels), map(_kernel_name, earlier)))
    changed = (
        KernelChange(kernel=key[1], arch=key[0], values=tuple(_kernel_values(kernels[key], earlier[key])))
        for key in kernels
        if key in earlier
    )
    return FileDifference(
        before=prefix + old.path,
        after=prefix + new.path,
        values=tuple(values),
        lists=tuple(found for found in lists if found.added or found.removed),
        kernels=tuple(found for found in changed if found.values),
    )


def _elf_values(new: BinaryFacts, old: BinaryFacts) -> Iterator[ValueChange]:
    return _changed(
        (
            ("SONAME", old.soname, new.soname),
            ("RPATH", old.rpath, new.rpath),
            ("RUNPATH", old.runpath, new.runpath),
            ("RELRO", old.relro, new.relro),
            ("executable stack", old.executable_stack, new.executable_stack),
            ("text relocations", old.text_relocations, new.text_relocations),
            ("compilers", "; ".join(old.comments), "; ".join(new.comments)),
        )
    )


def _kernel_values(new: Kernel, old: Kernel) -> Iterator[ValueChange]:
    def waves(kernel: Kernel) -> int | None:
        return kernel.occupancy.waves_per_simd if kernel.occupancy else None

    def loop(kernel: Kernel) -> int | None:
        return kernel.hot_loop.instructions if kernel.hot_loop else None

    return _changed(
        (
            ("VGPR", old.vgprs, new.vgprs),
            ("AGPR", old.agprs, new.agprs),
            ("SGPR", old.sgprs, new.sgprs),
            ("VGPR spills", old.vgpr_spills, new.vgpr_spills),
            ("SGPR spills", old.sgpr_spills, new.sgpr_spills),
            ("LDS", old.lds, new.lds),
            ("scratch", old.scratch, new.scratch),
            ("largest workgroup", old.max_workgroup, new.max_workgroup),
            ("bytes of arguments", old.kernarg_size, new.kernarg_size),
            ("waves per SIMD", waves(old), waves(new)),
            ("instructions in the hot loop", loop(old), loop(new)),
        )
    )


def _changed(rows: Iterable[tuple[str, object, object]]) -> Iterator[ValueChange]:
    for name, before, after in rows:
        if before != after:
            yield ValueChange(name=name, before=_text(before), after=_text(after))


def _text(value: object) -> str:
    return "unknown" if value is None else str(value)


def _list(name: str, new: Iterable[str], old: Iterable[str]) -> ListChange:
    now, then = set(new), set(old)
    return ListChange(name=name, added=tuple(sorted(now - then)), removed=tuple(sorted(then - now)))


def _versions(binary: BinaryFacts) -> Iterator[str]:
    return (f"{symbol.library or '?'}: {symbol.version}" for symbol in binary.undefined if symbol.version)


def _codes(file: _File) -> Iterator[CodeObject]:
    for bundle in file.bundles:
        yield from bundle.code_objects
    yield from file.code_objects


def _target(code: CodeObject) -> str:
    return ":".join((code.arch or code.elf_arch or "?", *(code.features or code.elf_features)))


def _archs(file: _File) -> Iterator[str]:
    return (_target(code) for code in _codes(file))


def _kernels(file: _File) -> dict[_KernelKey, Kernel]:
    """Return the kernels by target and name; a name that is there again, in another bundle, is numbered."""
    found: dict[_KernelKey, Kernel] = {}
    for code in _codes(file):
        for kernel in code.kernels:
            number = 0
            while (key := (_target(code), kernel.name, number)) in found:
                number += 1
            found[key] = kernel
    return found


def _kernel_name(key: _KernelKey) -> str:
    return f"{key[1]} for {key[0]}"
