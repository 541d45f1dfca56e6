"""How fast a large library is read, against LLVM's tools on the same bytes in one run.

``python benchmarks/audit_speed.py [LIBRARY]`` needs the package with the extra ``embedded`` (clang makes the library:
100 MB of code objects for 20 GPUs in 30 bundles) and llvm-readelf and llvm-objdump of LLVM 19 or later. A library that
is given is read instead. Both sides are timed in processes of their own: the audit reads the library, LLVM's tools
print what it would have to be read from: ELF tables of the library, then headers and metadata of all its code objects,
which are cut out for them beforehand. It fails if the audit takes more than ten seconds of processor time, more than
400 MB, or more than three times what LLVM's tools take.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

ARCHS = (
    "gfx803", "gfx900", "gfx906:xnack-", "gfx908:xnack-", "gfx90a:xnack-", "gfx90a:xnack+", "gfx942", "gfx950",
    "gfx1010", "gfx1012", "gfx1030", "gfx1031", "gfx1032", "gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151",
    "gfx1200", "gfx1201",
)  # fmt: skip
MEGABYTES = 100
BUNDLES = 30
KERNELS = 24
"""Kernels of each code object."""
SECONDS, LIMIT_MB, RATIO = 10, 400, 3
_NEWEST, _OLDEST = 25, 19
_PAGE = 4096


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What reading came to: seconds of processor and wall time, peak memory in MB, what was found."""

    seconds: float
    wall: float
    megabytes: float
    bundles: int
    archs: int
    code_objects: int
    kernels: int
    problems: int


def audit(path: Path) -> Audited:
    """Read a library as the audit does, in this process."""
    import resource  # noqa: PLC0415 - not where the table is printed
    import time  # noqa: PLC0415

    from rocmatrix.audit.policy import load_policy  # noqa: PLC0415 - its import is part of neither side
    from rocmatrix.audit.variant import read_file  # noqa: PLC0415

    machines = load_policy().machines
    start, wall = time.process_time(), time.monotonic()
    facts = read_file(path, machines)
    seconds, passed = time.process_time() - start, time.monotonic() - wall
    (binary,) = facts.binaries
    codes = [code for bundle in binary.bundles if bundle.certain for code in bundle.code_objects]
    return Audited(
        seconds=seconds,
        wall=passed,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        bundles=len(binary.bundles),
        archs=len({(code.arch, code.features) for code in codes}),
        code_objects=len(codes),
        kernels=sum(len(code.kernels) for code in codes),
        problems=sum(code.problem is not None or code.metadata_problem is not None for code in codes),
    )


def by_llvm(library: Path, codes: list[Path]) -> tuple[float, float]:
    """Return processor and wall seconds that LLVM's tools take to print the same."""
    import resource  # noqa: PLC0415 - as above
    import time  # noqa: PLC0415

    readelf, objdump = tool("llvm-readelf"), tool("llvm-objdump")
    tables = [readelf, "--wide", "-h", "-l", "-d", "--dyn-syms", "--version-info", "--notes", library]
    headers = [objdump, "--private-headers", library]
    start, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in (tables, headers, [readelf, "-h", "--notes", *codes]):
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime, time.monotonic() - wall


def tool(name: str) -> str:
    """Return a tool of LLVM 19 or later."""
    for number in range(_NEWEST, _OLDEST - 1, -1):
        if path := shutil.which(f"{name}-{number}"):
            return path
    sys.exit(f"this benchmark needs {name} of LLVM {_OLDEST} or later (Debian: apt-get install llvm-{_OLDEST})")


def make_library(folder: Path) -> Path:
    """Return a library of ``MEGABYTES`` whose bundles hold code of one source for all archs."""
    source = folder / "kernels.c"
    body = "for (int i = 0; i < n; i++) { x[i] = x[i] * y[i] + %d.0f; x[n - i] += y[i] / x[i]; }"
    kernel = (
        "__attribute__((amdgpu_kernel)) void k%d(__attribute__((address_space(1))) float *x, float *y, int n) { %s }\n"
    )
    source.write_text("".join(kernel % (number, body % number) for number in range(KERNELS)))
    codes = {}
    for arch in ARCHS:
        made = folder / f"{arch}.o"
        zig(
            "clang", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-O3", "-g", "-c", source, "-o", made
        )
        zig("ld.lld", "-shared", made, "-o", made.with_suffix(".co"))
        codes[arch] = made.with_suffix(".co").read_bytes()
    (folder / "fatbin").write_bytes(b"".join(bundle(codes, number) for number in range(BUNDLES)))
    (folder / "host.c").write_text('__asm__(".section .hip_fatbin,\\"a\\"; .p2align 12; .incbin \\"fatbin\\"");')
    library = folder / "library.so"
    zig("cc", "-target", "x86_64-linux-gnu.2.28", "-shared", "-fPIC", "host.c", "-o", library, cwd=folder)
    return library


def bundle(codes: dict[str, bytes], number: int) -> bytes:
    """Return an offload bundle, padded so that all of them together have ``MEGABYTES``."""
    padding = max(MEGABYTES * 1_000_000 // BUNDLES - sum(map(len, codes.values())), 0) // len(codes)
    table = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(codes))
    body = b""
    for arch, code in codes.items():
        name = f"hipv4-amdgcn-amd-amdhsa--{arch}".encode()
        filled = code + number.to_bytes(1, "little") * padding
        table += struct.pack("<QQQ", _PAGE + len(body), len(filled), len(name)) + name
        body += filled.ljust(-(-len(filled) // _PAGE) * _PAGE, b"\0")
    return table.ljust(_PAGE, b"\0") + body


def zig(*arguments: str | Path, cwd: Path | None = None) -> None:
    """Run the compiler or the linker that the package ziglang brings."""
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, arguments)], check=True, cwd=cwd, timeout=600)


def cut(library: Path, folder: Path) -> list[Path]:
    """Write the code objects of a library's bundles to files, for LLVM's tools."""
    from rocmatrix.audit.policy import load_policy  # noqa: PLC0415 - only here
    from rocmatrix.audit.variant import read_file  # noqa: PLC0415

    (binary,) = read_file(library, load_policy().machines).binaries
    data = library.read_bytes()
    paths: list[Path] = []
    for code in (code for found in binary.bundles if found.certain for code in found.code_objects):
        path = folder / f"{len(paths)}.co"
        path.write_bytes(data[code.offset or 0 : (code.offset or 0) + code.size])
        paths.append(path)
    return paths


def main(given: str | None) -> int:
    """Print both sides and the ratio; return 1 if a bound does not hold."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = Path(given) if given else make_library(folder)
        codes = folder / "codes"
        codes.mkdir()
        paths = cut(library, codes)
        done = subprocess.run(
            [sys.executable, __file__, "--audit", library], check=True, capture_output=True, env=os.environ
        )
        found = Audited(**json.loads(done.stdout))
        llvm, llvm_wall = by_llvm(library, paths)
    size = Path(library).stat().st_size / 1e6 if given else MEGABYTES
    print(f"{size:.0f} MB, {found.bundles} bundles, {found.archs} targets, ", end="")
    print(f"{found.code_objects} code objects, {found.kernels} kernels; {found.problems} problems")
    print(f"audit: {found.seconds:.2f} s processor, {found.wall:.2f} s wall, {found.megabytes:.0f} MB")
    print(f"llvm-readelf, llvm-objdump: {llvm:.2f} s processor, {llvm_wall:.2f} s wall")
    print(f"the audit takes {found.seconds / llvm:.2f} times their processor time")
    good = (
        found.seconds < SECONDS and found.megabytes < LIMIT_MB and found.seconds < RATIO * llvm and not found.problems
    )
    return 0 if good or given else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--audit"]:
        print(json.dumps(asdict(audit(Path(sys.argv[2])))))
    else:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
