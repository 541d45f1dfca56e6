"""The part of the facts that goes into records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rocmatrix.audit.facts import Binary, DeviceFile
from rocmatrix.audit.rules.abi3 import exports
from rocmatrix.audit.rules.archs import common_archs, served_together
from rocmatrix.audit.rules.ceilings import highest_versions
from rocmatrix.binary.facts import Bundle, CodeObject
from rocmatrix.records import BinaryFacts, DeviceFileFacts

MOST_ARGUMENTS = 100_000
"""Arguments of kernels that the facts of one file keep; hundreds of kernels for ten archs have some ten thousand."""


def binary_facts(binary: Binary) -> BinaryFacts:
    """Return what records keep of a shared object; the archs are those that every offload bundle in it has code for."""
    bundles, code_objects, left_out = _kept(binary)
    return BinaryFacts(
        path=binary.path,
        archs=common_archs(served_together(binary)),
        needed=binary.elf.needed,
        highest=highest_versions(binary.elf),
        exports=exports(binary),
        size=binary.size,
        soname=binary.elf.soname,
        rpath=binary.elf.rpath,
        runpath=binary.elf.runpath,
        build_id=binary.elf.build_id,
        executable_stack=binary.elf.executable_stack,
        text_relocations=binary.elf.text_relocations,
        relro=binary.elf.relro,
        cxx=binary.elf.cxx,
        comments=binary.elf.comments,
        undefined=tuple(symbol for symbol in binary.elf.symbols if not symbol.defined),
        bundles=bundles,
        code_objects=code_objects,
        arguments_left_out=left_out,
    )


def device_file_facts(file: DeviceFile) -> DeviceFileFacts:
    """Return what records keep of a file of GPU code."""
    bundles, code_objects, left_out = _kept(file)
    return DeviceFileFacts(
        path=file.path, size=file.size, bundles=bundles, code_objects=code_objects, arguments_left_out=left_out
    )


def _kept(file: Binary | DeviceFile) -> tuple[tuple[Bundle, ...], tuple[CodeObject, ...], int]:
    """Return the GPU code of a file, without arguments if there are too many, and how many were left out."""
    everything = [*file.code_objects, *(code for bundle in file.bundles for code in bundle.code_objects)]
    count = sum(len(kernel.arguments) for code in everything for kernel in code.kernels)
    if count <= MOST_ARGUMENTS:
        return file.bundles, file.code_objects, 0
    bundles = tuple(replace(bundle, code_objects=_bare(bundle.code_objects)) for bundle in file.bundles)
    return bundles, _bare(file.code_objects), count


def _bare(codes: Iterable[CodeObject]) -> tuple[CodeObject, ...]:
    return tuple(
        replace(code, kernels=tuple(replace(kernel, arguments=()) for kernel in code.kernels)) for code in codes
    )
