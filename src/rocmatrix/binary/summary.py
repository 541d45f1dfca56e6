"""The part of the facts about binaries that records keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocmatrix.binary.facts import Bundle, CodeObject, CxxSigns, DynamicSymbol, Relro


@dataclass(frozen=True, kw_only=True)
class BinaryFacts:
    """What was read from one shared object of a payload.

    Attributes:
        path: relative to the payload.
        archs: gfx archs that every offload bundle of the file has code for, sorted, without features.
        needed: DT_NEEDED entries in order.
        highest: symbol-version family -> highest version that the loader will ask for, e.g. ``{"GLIBC": "2.14"}``.
        exports: defined dynamic symbols.
        size: bytes.
        soname, rpath, runpath, build_id, executable_stack, text_relocations, relro, cxx, comments: as in ``ElfFacts``.
        undefined: dynamic symbols that it asks of other libraries, with version and library.
        bundles: offload bundles in it, with their code objects and kernels.
        code_objects: code objects in its data outside of any bundle.
        arguments_left_out: arguments of kernels that were read and are not in ``bundles`` and ``code_objects``, for
            there are more of them than a document should have; 0 for all but the largest libraries.
    """

    path: str
    archs: tuple[str, ...]
    needed: tuple[str, ...]
    highest: dict[str, str]
    exports: tuple[str, ...]
    size: int = 0
    soname: str | None = None
    rpath: str | None = None
    runpath: str | None = None
    build_id: str | None = None
    executable_stack: bool = False
    text_relocations: bool = False
    relro: Relro = Relro.FULL
    cxx: CxxSigns = field(default_factory=CxxSigns)
    comments: tuple[str, ...] = ()
    undefined: tuple[DynamicSymbol, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    code_objects: tuple[CodeObject, ...] = ()
    arguments_left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class DeviceFileFacts:
    """What was read from a file that holds GPU code and nothing else; as in ``BinaryFacts``."""

    path: str
    size: int
    bundles: tuple[Bundle, ...] = ()
    code_objects: tuple[CodeObject, ...] = ()
    arguments_left_out: int = 0
