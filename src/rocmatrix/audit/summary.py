"""The part of the facts that goes into records."""

from __future__ import annotations

from rocmatrix.audit.facts import Binary, DeviceFile
from rocmatrix.audit.rules.abi3 import exports
from rocmatrix.audit.rules.archs import common_archs, served_together
from rocmatrix.audit.rules.ceilings import highest_versions
from rocmatrix.records import BinaryFacts, DeviceFileFacts


def binary_facts(binary: Binary) -> BinaryFacts:
    """Return what records keep of a shared object; the archs are those that every offload bundle in it has code for."""
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
        bundles=binary.bundles,
        code_objects=binary.code_objects,
    )


def device_file_facts(file: DeviceFile) -> DeviceFileFacts:
    """Return what records keep of a file of GPU code."""
    return DeviceFileFacts(path=file.path, size=file.size, bundles=file.bundles, code_objects=file.code_objects)
