"""Files with code for the emulated GPU: a bare code object, or a shared object with offload bundles inside."""

from __future__ import annotations

from collections.abc import Sequence

from rocmatrix.binary.facts import BundleEntry, BundleKind, UnreadableError
from rocmatrix.binary.header import Header, read_header
from rocmatrix.binary.offload import read_bundles, unbundle
from rocmatrix.emulator.code_object import ARCH, MACHINE, CodeObject, read_code_object
from rocmatrix.errors import InputError


def read_code_file(data: bytes, where: str) -> tuple[CodeObject, ...]:
    """Return the code objects for gfx942 in a file, in the order of its bundles.

    Args:
        data: the whole file: a code object, or a host shared object.
        where: its name, for messages.

    Raises:
        InputError: it is neither, a bundle cannot be read, or nothing in it is for gfx942.
        UnsupportedError: a kernel asks for something that is not modelled.
    """
    try:
        header = read_header(data)
    except UnreadableError as err:
        raise _unreadable(err, where) from err
    if header.machine == "EM_AMDGPU":
        return (read_code_object(data, where),)
    return _fitting(_bundled(data, header, where), where)


def check_bundles(data: bytes, where: str, *, wanted: bool = False) -> None:
    """Refuse a shared object that was built for GPUs and holds no sound code for gfx942; one may hold no code at all.

    Args:
        data: the whole file.
        where: its name, for messages.
        wanted: whether it must hold code, because it gives some to the HIP runtime.

    Raises:
        InputError: a bundle or a code object for gfx942 cannot be read, or the bundles hold none.
        UnsupportedError: a kernel asks for something that is not modelled.
    """
    try:
        header = read_header(data)
    except UnreadableError as err:
        raise _unreadable(err, where) from err
    if (entries := _bundled(data, header, where)) or wanted:
        _fitting(entries, where)


def _bundled(data: bytes, header: Header, where: str) -> list[BundleEntry]:
    """Return what the offload bundles of a host file hold."""
    try:
        bundles = read_bundles(data, header, {MACHINE: ARCH})
        told = [bundle for bundle in bundles if bundle.certain and bundle.kind is not BundleKind.PACKAGE]
        return [entry for bundle in told for entry in unbundle(data[bundle.offset :])]
    except UnreadableError as err:
        raise _unreadable(err, where) from err


def _fitting(entries: Sequence[BundleEntry], where: str) -> tuple[CodeObject, ...]:
    fitting = [entry for entry in entries if entry.target is not None and entry.target[0] == ARCH]
    if not fitting:
        names = ", ".join(entry.entry for entry in entries) or "none"
        what = f"it holds no code object for {ARCH}"
        raise InputError(what, where=where, fix=f"Build for {ARCH}; its offload bundles hold: {names}.")
    return tuple(read_code_object(entry.data, f"{where} ({entry.entry})") for entry in fitting)


def _unreadable(err: UnreadableError, where: str) -> InputError:
    return InputError(str(err), where=where, fix="Give a code object, or a shared object built for HIP.")
