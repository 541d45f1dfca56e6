"""Compiler and linker flags, in one place, for device code, host code, bindings and the probe alike.

The bytes of a result must not depend on the folder it was built in. So every path in a command is below a root of
``Roots``, and the compiler is told to forget the roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rocmatrix.toolchain.llvm.facts import CPU_TRIPLE, EXPORTS, zig_facts

CODE_OBJECT_TRIPLE = "amdgcn-amd-amdhsa"


@dataclass(frozen=True, kw_only=True)
class Roots:
    """Folders that the paths of a compilation are below.

    Attributes:
        zig: the wheel's folder ``lib``.
        hip: our HIP declarations.
        project: the kernel project.
        generated: folder of ``registration.h``.
        torch: folder that holds ``torch/``, or ``None``.
    """

    zig: Path
    hip: Path
    project: Path
    generated: Path
    torch: Path | None

    def labelled(self) -> Roots:
        """Return roots that stand for these wherever they are: what a command looks like apart from its folders."""
        return Roots(
            zig=Path("/zig"),
            hip=Path("/hip"),
            project=Path("/project"),
            generated=Path("/generated"),
            torch=Path("/torch") if self.torch else None,
        )

    def prefix_maps(self) -> tuple[str, ...]:
        """Return the flags that make messages, debug information and ``__FILE__`` start below the root."""
        roots = (self.zig, self.hip, self.project, self.generated, *((self.torch,) if self.torch else ()))
        return (*(f"-ffile-prefix-map={root}/=" for root in roots), "-ffile-compilation-dir=.")


@dataclass(frozen=True, kw_only=True)
class Translation:
    """What the flags of one source file are made from.

    Attributes:
        extension: name of the extension module.
        standard: C++ standard, e.g. ``c++20``.
        torch_target: level of torch's stable ABI, e.g. ``2.10``, or ``None`` without torch.
        include: folders relative to the project.
        extra: the author's own flags.
    """

    extension: str
    standard: str
    torch_target: str | None
    include: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LinkInputs:
    """What is linked, in the order in which the linker looks for symbols.

    Attributes:
        objects: object files.
        kept: shared libraries that are needed at run time in any case.
        libraries: shared libraries and archives that are needed if they are used.
    """

    objects: tuple[Path, ...]
    kept: tuple[Path, ...]
    libraries: tuple[Path, ...]


def torch_target_version(level: str) -> str:
    """Return ``TORCH_TARGET_VERSION`` for a level such as ``2.10``: major and minor in the two highest bytes.

    Source: torch/headeronly/version.h, ``TORCH_ABI_VERSION``.
    """
    major, minor = (int(part) for part in level.split(".")[:2])
    return f"0x{major << 56 | minor << 48:016x}"


def cxx_flags(roots: Roots, translation: Translation) -> tuple[str, ...]:
    """Return the flags of a C++ source, apart from its name."""
    return (
        "-x",
        "c++",
        *_common(roots, translation),
        *_host(),
        *translation.extra,
    )


def own_flags(zig: Path, folder: Path, hip: Path) -> tuple[str, ...]:
    """Return the flags of a C++ source of this recipe itself, below ``folder``: those of any binding without torch."""
    roots = Roots(zig=zig, hip=hip, project=folder, generated=folder, torch=None)
    own = Translation(extension="rocmatrix", standard="c++20", torch_target=None, include=(), extra=())
    return cxx_flags(roots, own)


def hip_host_flags(roots: Roots, translation: Translation, *, cuid: str) -> tuple[str, ...]:
    """Return the flags of the host half of a HIP source, apart from its name and the bundle."""
    return (*_hip(cuid), "--cuda-host-only", *_common(roots, translation), *_host(), *translation.extra)


def hip_device_flags(roots: Roots, translation: Translation, *, cuid: str, arch: str) -> tuple[str, ...]:
    """Return the flags that make bitcode of the device half of a HIP source, apart from its name."""
    return (
        *_hip(cuid),
        f"--offload-arch={arch}",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "-emit-llvm",
        *_common(roots, translation),
        "-O3",
        *translation.extra,
    )


def code_object_flags(arch: str, extra: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags that make machine code of bitcode; of the author's own, only those for LLVM itself apply."""
    return ("-target", CODE_OBJECT_TRIPLE, f"-mcpu={arch}", "-nogpulib", "-O3", *_llvm_options(extra))


def link_command(zig: Path, output: Path, inputs: LinkInputs, *, strip: bool) -> tuple[str, ...]:
    """Return the command that links a shared object.

    ``-z now`` makes a symbol that is missing an error at load, not at the first call. libtorch.so stays among what is
    loaded although nothing may refer to it (``--no-as-needed``): it is what brings torch's GPU library into the scope
    in which a weak symbol of that library is looked up. zig's libunwind is left out, so that unwinding can only come
    from libgcc_s.
    """
    return (
        *(str(zig), "ld.lld", "-shared", "-m", "elf_x86_64", "-o", str(output)),
        *("--eh-frame-hdr", "--hash-style=gnu", "--build-id=sha1", "--gc-sections"),
        *("-z", "relro", "-z", "now", "-z", "noexecstack"),
        *("--no-undefined", f"--version-script={EXPORTS}"),
        *(("-s",) if strip else ()),
        *(str(path) for path in inputs.objects),
        *("--no-as-needed", *(str(path) for path in inputs.kept)),
        *("--as-needed", *(str(path) for path in inputs.libraries)),
    )


def _hip(cuid: str) -> tuple[str, ...]:
    return ("-x", "hip", "-nogpuinc", "-nogpulib", "-fno-gpu-rdc", f"-cuid={cuid}")


def _host() -> tuple[str, ...]:
    return ("-O2", "-fPIC", "-fvisibility=hidden")


def _common(roots: Roots, translation: Translation) -> tuple[str, ...]:
    facts = zig_facts()
    includes: list[str] = []
    for folder in translation.include:
        includes += ["-I", str(roots.project / folder)]
    includes += ["-I", str(roots.generated)]
    if roots.torch:
        includes += ["-I", str(roots.torch)]
    for system in (roots.hip, *(roots.zig / folder for folder in facts.include)):
        includes += ["-isystem", str(system)]
    return (
        "-target",
        CPU_TRIPLE,
        "--no-default-config",
        "-resource-dir",
        str(roots.zig),
        "-nostdinc",
        "-nostdinc++",
        f"-std={translation.standard}",
        *(f"-D{macro}" for macro in (*facts.define, *_macros(translation))),
        *includes,
        *roots.prefix_maps(),
    )


def _macros(translation: Translation) -> Iterator[str]:
    yield f"TORCH_EXTENSION_NAME={translation.extension}"
    yield "USE_ROCM=1"
    yield "ROCM_KERNEL=1"
    yield "__HIP_PLATFORM_AMD__=1"
    if translation.torch_target:
        yield f"TORCH_TARGET_VERSION={torch_target_version(translation.torch_target)}"


def _llvm_options(extra: tuple[str, ...]) -> Iterator[str]:
    for option, value in pairwise(extra):
        if option == "-mllvm":
            yield from (option, value)
