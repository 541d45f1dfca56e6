"""Checks of the axes of a matrix against what exists and what the plan made of them: no value is there for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import Compat
from rocmatrix.plan.matrix_model import Matrix
from rocmatrix.plan.model import Cell, CellState
from rocmatrix.plan.text import in_words, nearest, quote

_SHOWN_REASONS = 4


def require_known_archs(matrix: Matrix, compat: Compat) -> None:
    """Refuse a gfx arch that ROCm is not known to target under any version.

    Raises:
        InputError: at the file or entry that names it, with the arch that was probably meant.
    """
    places: list[tuple[str, Iterable[str]]] = [(matrix.places.archs, matrix.archs)]
    places += [(entry.where, entry.archs) for entry in matrix.kernels if entry.archs]
    places += [(rule.where, rule.archs) for rule in matrix.include if rule.archs]
    places += [(rule.where, rule.archs) for rule in matrix.exclude if rule.archs]
    known = [arch.name for arch in compat.archs]
    for where, archs in places:
        for arch in archs:
            if compat.arch(arch) is not None:
                continue
            if instead := compat.replacement(arch):
                fix = f"AMD withdrew it; {instead} took its place."
            else:
                close = nearest(arch, known)
                fix = f"{f'Did you mean {close}? ' if close else ''}Known: {', '.join(known)}."
            raise InputError(f"archs: ROCm is not known to target {quote(arch)}", where=where, fix=fix)


def require_every_value_served(matrix: Matrix, cells: Sequence[Cell]) -> None:
    """Refuse an axis value that is left without any served cell: it promises nothing, and hides a mistake.

    Raises:
        InputError: for the first such kernel, torch, ROCm or gfx arch, with the reasons of its cells.
    """
    served = [cell for cell in cells if cell.state is CellState.SERVED]
    kernels = {cell.kernel for cell in served}
    for cell in cells:
        if cell.kernel not in kernels:
            lost = [other for other in cells if other.kernel == cell.kernel]
            raise _unserved("kernels", cell.kernel, lost, matrix.places.kernels)
    torches = {cell.torch for cell in served}
    for torch in matrix.torch:
        if torch not in torches:
            lost = [cell for cell in cells if cell.torch == torch]
            raise _unserved("torch", torch, lost, matrix.places.torch)
    rocms = {cell.rocm for cell in served}
    for rocm in matrix.rocm:
        if rocm not in rocms:
            lost = [cell for cell in cells if cell.rocm == rocm]
            raise _unserved("rocm", rocm, lost, matrix.places.rocm)
    archs = {arch for cell in served for arch in cell.archs}
    for arch in matrix.archs:
        if arch not in archs:
            fix = "Remove it from archs, or add it to rocm-archs of a kernel."
            raise InputError(f"archs: no cell that is served has {arch}", where=matrix.places.archs, fix=fix)


def require_cells_of_images(matrix: Matrix, promised: Iterable[tuple[str, str]]) -> None:
    """Refuse an image for a torch and a ROCm that no cell has, so that no image is written down and never used.

    Args:
        matrix: the matrix.
        promised: torch and ROCm of every promise.

    Raises:
        InputError: at the entry, with the key that was probably meant.
    """
    if not matrix.check_images:
        return
    keys = {f"torch{torch}-rocm{rocm}": None for torch, rocm in promised}
    for image in matrix.check_images:
        key = f"torch{image.torch}-rocm{image.rocm}"
        if key not in keys:
            close = nearest(key, keys)
            meant = f"Did you mean {close}? " if close else ""
            fix = f"{meant}Remove it, or write one of {in_words(tuple(keys), 'or')}."
            raise InputError(f"check.images: no cell has {key}", where=image.where, fix=fix)


def _unserved(axis: str, value: str, lost: Sequence[Cell], where: str) -> InputError:
    reasons = list(dict.fromkeys(cell.reason for cell in lost))
    more = [f"and {len(reasons) - _SHOWN_REASONS} more reasons"] if len(reasons) > _SHOWN_REASONS else []
    listed = "".join(f"\n  - {reason}" for reason in (*reasons[:_SHOWN_REASONS], *more))
    what = f"{axis}: {value} is left without any cell that can be served:{listed}"
    return InputError(what, where=where, fix=f"Remove {value}, or change what is in its way.")
