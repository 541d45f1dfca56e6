"""Facts and bytes that several tests of the audit share: a good variant, and one change at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rocmatrix.audit.facts import Binary, Expectation, MetadataFacts, OpsFacts, VariantFacts, VariantFile
from rocmatrix.binary.facts import Bundle, CodeObject, DynamicSymbol, ElfFacts, VersionNeed
from rocmatrix.digest import of_bytes
from rocmatrix.plan.model import Abi
from rocmatrix.records import PayloadFile

EXTENSION = "_gemm_rocm_0123abcd"
SO = f"{EXTENSION}.abi3.so"


def code(arch: str = "gfx942", *features: str, **changes: Any) -> CodeObject:
    """Return a code object whose flags agree with its entry."""
    entry = ":".join((f"hipv4-amdgcn-amd-amdhsa--{arch}", *features))
    good = CodeObject(
        entry=entry, arch=arch, features=features, size=64, elf_arch=arch, elf_features=features, version=6
    )
    return replace(good, **changes)


def undefined(name: str, version: str | None = None) -> DynamicSymbol:
    return DynamicSymbol(name=name, defined=False, version=version)


def exported(name: str) -> DynamicSymbol:
    return DynamicSymbol(name=name, defined=True, version=None)


GOOD_ELF = ElfFacts(
    soname=None,
    needed=("libamdhip64.so.7", "libtorch_cpu.so", "libstdc++.so.6", "libgcc_s.so.1", "libc.so.6"),
    rpath=None,
    runpath=None,
    symbols=(
        exported(f"PyInit_{EXTENSION}"),
        undefined("PyModule_Create2"),
        undefined("hipLaunchKernel"),
        undefined("memcpy", "GLIBC_2.14"),
    ),
    version_needs=(
        VersionNeed(library="libc.so.6", version="GLIBC_2.14"),
        VersionNeed(library="libstdc++.so.6", version="GLIBCXX_3.4"),
        VersionNeed(library="libstdc++.so.6", version="CXXABI_1.3.9"),
    ),
)
GOOD_BINARY = Binary(path=SO, elf=GOOD_ELF, bundles=(Bundle(offset=4096, code_objects=(code(),)),))


def variant_file(path: str, content: bytes = b"content") -> VariantFile:
    return VariantFile(path=path, size=len(content), digest=of_bytes(content), client_digest={"sha256": path})


FILES = tuple(variant_file(path) for path in ("__init__.py", SO, "_ops.py"))
GOOD = VariantFacts(
    folder=True,
    files=FILES,
    binaries=(GOOD_BINARY,),
    ops=OpsFacts(imports=(EXTENSION,), namespaces=(EXTENSION,)),
)
METADATA = MetadataFacts(
    name="gemm",
    id=EXTENSION,
    archs=("gfx942",),
    algorithm="sha256",
    digests={file.path: file.path for file in FILES},
)
EXPECTED = Expectation(
    name="gemm",
    variant="torch-stable-abi210-rocm72-x86_64-linux",
    abi=Abi.STABLE,
    archs=("gfx942",),
    hip_soname="libamdhip64.so.7",
    extension=EXTENSION,
    files=tuple(PayloadFile(path=file.path, size=file.size, digest=file.digest) for file in FILES),
    torch="2.10",
    rocm="7.2",
)


def with_elf(**changes: Any) -> VariantFacts:
    """Return the good variant with other facts about its one binary."""
    return replace(GOOD, binaries=(replace(GOOD_BINARY, elf=replace(GOOD_ELF, **changes)),))


def with_codes(*bundles: Sequence[CodeObject]) -> VariantFacts:
    """Return the good variant with other offload bundles, one for each list of code objects."""
    made = tuple(Bundle(offset=4096 * (1 + index), code_objects=tuple(codes)) for index, codes in enumerate(bundles))
    return replace(GOOD, binaries=(replace(GOOD_BINARY, bundles=made),))
