"""From the axes of matrix.yaml to single promises: the product, what is excluded from it, what is included on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from rocmatrix.errors import InputError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.matrix_model import Exclude, Include, KernelEntry, Matrix
from rocmatrix.plan.text import in_words, nearest, place, quote
from rocmatrix.plan.version import minor_key

MOST_CELLS = 200_000

_Excludes = dict[tuple[str | None, str | None], list[tuple[int, Exclude]]]
"""Rules with their numbers, by the torch and ROCm that they name; ``None`` stands for any."""

_Taken = dict[int, set[tuple[str, str, str]]]
"""What each exclude took something of: kernel, torch and ROCm of the cells, by the number of the rule."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """One combination that the author speaks of.

    Attributes:
        kernel: name of the kernel.
        archs: gfx archs promised, sorted; those left after exclusions.
        named_at: where the combination is named explicitly; ``None`` if it comes from the axes.
        excluded: the sentence that says who excluded it; ``None`` if it is promised.
    """

    kernel: str
    torch: str
    rocm: str
    archs: tuple[str, ...]
    named_at: str | None = None
    excluded: str | None = None


def promises_of(matrix: Matrix, manifests: Mapping[str, Manifest]) -> tuple[Promise, ...]:
    """Return every combination of a matrix, by kernel name, then torch, then ROCm.

    Excludes take cells from the product of the axes; includes are added after that, so that an include of an excluded
    combination brings it back.

    Raises:
        InputError: an entry matches nothing or names an unknown kernel, two kernels have one name, or there are more
            than ``MOST_CELLS`` combinations.
    """
    kernels = _named(matrix, manifests)
    size = len(kernels) * len(matrix.torch) * len(matrix.rocm)
    if size > MOST_CELLS:
        what = f"{len(matrix.torch)} torch x {len(matrix.rocm)} ROCm x {len(kernels)} kernels are {size} cells"
        raise InputError(what, where=matrix.where, fix=f"At most {MOST_CELLS} are planned; shorten an axis.")
    _require_kernels((*matrix.include, *matrix.exclude), kernels)
    found: list[Promise] = []
    taken: _Taken = {}
    for name in sorted(kernels):
        archs = tuple(sorted(kernels[name].archs or matrix.archs))
        excludes = _by_place((n, rule) for n, rule in enumerate(matrix.exclude) if rule.kernel in {None, name})
        cells = {(cell.torch, cell.rocm): _without(cell, excludes, taken) for cell in _product(matrix, name, archs)}
        _include(cells, [rule for rule in matrix.include if rule.kernel in {None, name}], name, archs)
        found.extend(cells[key] for key in sorted(cells, key=lambda key: (minor_key(key[0]), minor_key(key[1]))))
    _require_matches(matrix, kernels, taken)
    return tuple(found)


def _named(matrix: Matrix, manifests: Mapping[str, Manifest]) -> dict[str, KernelEntry]:
    kernels: dict[str, KernelEntry] = {}
    for entry in matrix.kernels:
        name = manifests[entry.path].name
        if name in kernels:
            what = f"{entry.path} and {kernels[name].path} are both the kernel {name}"
            raise InputError(what, where=entry.where, fix="Give one of them another general.name in its build.toml.")
        kernels[name] = entry
    return kernels


def _product(matrix: Matrix, kernel: str, archs: tuple[str, ...]) -> Iterator[Promise]:
    for torch in matrix.torch:
        for rocm in matrix.rocm:
            yield Promise(kernel=kernel, torch=torch, rocm=rocm, archs=archs)


def _by_place(excludes: Iterable[tuple[int, Exclude]]) -> _Excludes:
    places: _Excludes = {}
    for number, rule in excludes:
        places.setdefault((rule.torch, rule.rocm), []).append((number, rule))
    return places


def _without(cell: Promise, excludes: _Excludes, taken: _Taken) -> Promise:
    """Return the cell as the excludes leave it; ``taken`` learns which rule took something of it."""
    if not excludes:
        return cell
    pairs = ((cell.torch, cell.rocm), (cell.torch, None), (None, cell.rocm), (None, None))
    for number, rule in sorted((rule for pair in pairs for rule in excludes.get(pair, ())), key=itemgetter(0)):
        if cell.excluded is not None:
            break
        left = () if rule.archs is None else tuple(arch for arch in cell.archs if arch not in rule.archs)
        if left == cell.archs:
            continue
        taken.setdefault(number, set()).add((cell.kernel, cell.torch, cell.rocm))
        if left:
            cell = replace(cell, archs=left)
        else:
            words = f": {rule.reason}" if rule.reason else ""
            cell = replace(cell, excluded=f"excluded by {place(rule.where)}{words}")
    return cell


def _include(
    cells: dict[tuple[str, str], Promise], rules: Iterable[Include], kernel: str, archs: tuple[str, ...]
) -> None:
    """Add the included combinations; one that changes nothing is refused."""
    for rule in rules:
        promised = tuple(sorted(rule.archs or archs))
        cell = Promise(kernel=kernel, torch=rule.torch, rocm=rule.rocm, archs=promised, named_at=rule.where)
        before = cells.get((rule.torch, rule.rocm))
        if before is not None and before.named_at is not None:
            fix = f"Remove one; the first is at {before.named_at}."
            raise InputError(f"torch {rule.torch} x ROCm {rule.rocm} is included twice", where=rule.where, fix=fix)
        if before is not None and before.excluded is None and before.archs == promised:
            what = f"torch {rule.torch} x ROCm {rule.rocm} is already in the product of the axes"
            raise InputError(what, where=rule.where, fix="Remove the entry, or give it archs of its own.")
        cells[rule.torch, rule.rocm] = cell


def _require_kernels(rules: Sequence[Include | Exclude], kernels: Mapping[str, KernelEntry]) -> None:
    for rule in rules:
        if rule.kernel is None or rule.kernel in kernels:
            continue
        close = nearest(rule.kernel, kernels)
        meant = f"Did you mean {close}? " if close else ""
        fix = f"{meant}Kernels are named as in their build.toml: {in_words(sorted(kernels))}."
        raise InputError(f"there is no kernel {quote(rule.kernel)}", where=rule.where, fix=fix)


def _require_matches(matrix: Matrix, kernels: Mapping[str, KernelEntry], taken: _Taken) -> None:
    """Refuse an exclude that took nothing; say which other rules took, or add again, the cells that it names."""
    for number, rule in enumerate(matrix.exclude):
        if number in taken:
            continue
        named = {
            (kernel, torch, rocm)
            for kernel in kernels
            if rule.kernel in {None, kernel} and _names_an_arch(rule, kernels[kernel].archs or matrix.archs)
            for torch in matrix.torch
            if rule.torch in {None, torch}
            for rocm in matrix.rocm
            if rule.rocm in {None, rocm}
        }
        others = [matrix.exclude[n].where for n in sorted(taken) if n < number and taken[n] & named]
        raise InputError("this exclude matches no cell", where=rule.where, fix=_what_took(matrix, rule, others))


def _names_an_arch(rule: Exclude, archs: Sequence[str]) -> bool:
    return rule.archs is None or not set(rule.archs).isdisjoint(archs)


def _what_took(matrix: Matrix, rule: Exclude, others: Sequence[str]) -> str:
    """Return the advice for an exclude that matches nothing; ``others`` took the cells that it names before it."""
    fix = "Remove it, or correct its torch, rocm, kernel or archs."
    if others:
        return f"{in_words(others)} already took what it names. {fix}"
    includes = [
        other.where
        for other in matrix.include
        if rule.torch in {None, other.torch}
        and rule.rocm in {None, other.rocm}
        and (None in {rule.kernel, other.kernel} or rule.kernel == other.kernel)
        and (other.archs is None or _names_an_arch(rule, other.archs))
    ]
    if includes:
        return f"{in_words(includes)} includes what it names, and includes are added after excludes. {fix}"
    axes = f"The product has torch {in_words(matrix.torch)} x ROCm {in_words(matrix.rocm)}, {in_words(matrix.archs)}."
    return f"{axes} {fix}"
