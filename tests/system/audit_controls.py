"""Extensions built on the spot for the audit's tests: a good one, and controls with one thing wrong each.

They are compiled with the clang that the ziglang package brings, device code included, and linked against stub
libraries made the same way, so that every control is a real binary that a real linker wrote.
"""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EXTENSION = "_gemm_rocm_0123abcd"
SO = f"{EXTENSION}.abi3.so"
OPS = f"""import torch
from . import {EXTENSION}
ops = torch.ops.{EXTENSION}


def add_op_namespace_prefix(op_name: str) -> str:
    return f"{EXTENSION}::{{op_name}}"
"""
BINDING = """
extern void *PyModule_Create2(void *, int);
extern int hipGetDevice(int *);
extern void __cxa_rethrow(void);
%(declare)s
static long definition[13];
__attribute__((visibility("default"))) void *PyInit_%(name)s(void) {
  int device;
  if (hipGetDevice(&device) > 1) __cxa_rethrow();
  %(register)s
  %(use)s
  return PyModule_Create2(definition, 1013);
}
"""
KERNEL = "__attribute__((amdgpu_kernel)) void scale(__attribute__((address_space(1))) float *x) { x[0] *= 2.0f; }"
FATBIN = """.section .hip_fatbin,"a",@progbits
.p2align 12
.hidden fatbin
.globl fatbin
fatbin: .incbin "{}"
"""
REGISTER = 'extern char fatbin[] __attribute__((visibility("hidden"))); definition[5] = (long)fatbin;'


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How an extension is built; the defaults make a good one.

    Attributes:
        archs: entry id suffix -> processor that its code object is compiled for.
        declare: C declarations on top of the binding's own.
        use: C statements in the module's entry.
        hip: SONAME of the stub HIP runtime.
        libraries: SONAME, symbol and symbol version of further stub libraries to link.
        glibc: version of glibc to link against.
        link: further linker options.
        exports: pattern of the symbols that the version script keeps.
        strip: whether the symbol table is stripped.
        name: module that the entry is named after.
        kernel: source of the device code, in C.
    """

    archs: tuple[tuple[str, str], ...] = (("gfx942", "gfx942"),)
    declare: str = ""
    use: str = ""
    hip: str = "libamdhip64.so.7"
    libraries: tuple[tuple[str, str, str], ...] = (("libstdc++.so.6", "__cxa_rethrow", "CXXABI_1.3"),)
    glibc: str = "2.28"
    link: tuple[str, ...] = ()
    exports: str = "PyInit_*"
    strip: bool = True
    name: str = EXTENSION
    kernel: str = KERNEL


def zig(*arguments: str | Path) -> None:
    """Run the compiler or the linker.

    Raises:
        AssertionError: it failed; the message is what it printed.
    """
    command = [sys.executable, "-m", "ziglang", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stderr}"


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Builds extensions; what several of them share is made once.

    Attributes:
        parts: folder for code objects and stub libraries.
    """

    parts: Path

    def build(self, work: Path, recipe: Recipe) -> Path:
        """Return the extension that a recipe makes, in a folder of its own."""
        work.mkdir()
        target = f"x86_64-linux-gnu.{recipe.glibc}"
        register = REGISTER if recipe.archs else ""
        fill = {"declare": recipe.declare, "use": recipe.use, "name": recipe.name, "register": register}
        (work / "binding.c").write_text(BINDING % fill)
        (work / "exports.map").write_text(f"{{ global: {recipe.exports}; local: *; }};")
        (work / "fatbin.s").write_text(FATBIN.format(work / "bundle"))
        (work / "bundle").write_bytes(
            _bundle([(entry, self.code_object(arch, recipe.kernel)) for entry, arch in recipe.archs])
        )
        stubs = [self.stub(recipe.hip, "hipGetDevice", None)]
        stubs += [self.stub(*library) for library in recipe.libraries]
        options = [f"-Wl,--version-script={work / 'exports.map'}", *recipe.link, *(["-s"] if recipe.strip else [])]
        sources = [work / "binding.c", *([work / "fatbin.s"] if recipe.archs else [])]
        zig("cc", "-target", target, "-shared", "-fPIC", "-O1", *options, *sources, *stubs, "-o", work / SO)
        return work / SO

    def code_object(self, arch: str, kernel: str = KERNEL) -> bytes:
        """Return the code object of a small kernel for a processor."""
        name = f"{arch}-{hashlib.sha256(kernel.encode()).hexdigest()[:8]}"
        source, made = self.parts / f"{name}.c", self.parts / f"{name}.o"
        linked = made.with_suffix(".co")
        if not linked.exists():
            source.write_text(kernel)
            device = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-O2")
            zig("clang", *device, "-c", source, "-o", made)
            zig("ld.lld", "-shared", made, "-o", linked)
        return linked.read_bytes()

    def stub(self, soname: str, symbol: str, version: str | None) -> Path:
        """Return a shared library that offers one symbol, under a version if there is one."""
        folder = self.parts / f"{symbol}-{soname.replace('.', '-')}"
        if not folder.exists():
            folder.mkdir()
            (folder / "stub.c").write_text(f"int {symbol}() {{ return 0; }}")
            (folder / "stub.map").write_text(f"{version or 'any'} {{ global: {symbol}; }};")
            options = [f"-Wl,-soname,{soname}"]
            options += [f"-Wl,--version-script={folder / 'stub.map'}"] if version else []
            target = ("-target", "x86_64-linux-gnu.2.28", "-shared", "-fPIC", "-nostdlib")
            zig("cc", *target, *options, folder / "stub.c", "-o", folder / soname)
        return folder / soname


def _bundle(codes: Sequence[tuple[str, bytes]]) -> bytes:
    """Return an offload bundle as clang's documentation lays it out; written here, apart from the product's own."""
    entries = [("host-x86_64-unknown-linux-gnu-", b""), *((f"hipv4-amdgcn-amd-amdhsa--{id_}", co) for id_, co in codes)]
    table = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    body, place = b"", 4096
    for entry, code in entries:
        table += struct.pack("<QQQ", place, len(code), len(entry)) + entry.encode()
        body += code.ljust(-(-len(code) // 4096) * 4096, b"\0")
        place = 4096 + len(body)
    return table.ljust(4096, b"\0") + body


def package(folder: Path, shared_object: Path) -> None:
    """Lay out a payload around an extension."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from ._ops import ops\n")
    (folder / "_ops.py").write_text(OPS)
    (folder / SO).write_bytes(shared_object.read_bytes())
