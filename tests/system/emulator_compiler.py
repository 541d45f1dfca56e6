"""Code objects and CPU libraries for tests of the emulator, made by the compiler of the ziglang package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ziglang

_REPOSITORY = Path(__file__).parents[2]
_LIB = Path(ziglang.__file__).parent / "lib"
_INCLUDE = _REPOSITORY / "src/rocmatrix/toolchain/include"
_ZIG = (sys.executable, "-m", "ziglang")
_SECONDS = 300


def _run(*command: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if run.returncode:
        raise AssertionError(f"{' '.join(command)}\n{run.stderr[-4000:]}")


def compile_device(
    source: Path, output: Path, *, level: str = "-O3", flags: tuple[str, ...] = (), machine_flags: tuple[str, ...] = ()
) -> Path:
    """Compile HIP source to a code object for gfx942, in three steps because one-step links fail.

    ``flags`` are those of the front end, ``machine_flags`` those of code generation.
    """
    bitcode, machine = output.with_suffix(".bc"), output.with_suffix(".o")
    _run(
        *_ZIG, "clang", "-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-resource-dir", str(_LIB),
        "-nostdinc", "-isystem", str(_LIB / "include"), "-isystem", str(_INCLUDE), "--cuda-device-only",
        "--no-gpu-bundle-output", "-std=c++17", "-cuid=0", "-w", level, *flags,
        "-c", "-emit-llvm", str(source), "-o", str(bitcode),
    )  # fmt: skip
    target = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib")
    _run(*_ZIG, "clang", *target, level, *machine_flags, "-c", str(bitcode), "-o", str(machine))
    _run(*_ZIG, "ld.lld", "-shared", str(machine), "-o", str(output))
    return output


def compile_host(source: Path, output: Path, *, flags: tuple[str, ...] = ()) -> Path:
    """Compile C++ source to a shared library for this machine."""
    options = ("-target", "x86_64-linux-gnu", "-x", "c++", "-std=c++17", "-O1", "-fno-sanitize=all", "-w")
    _run(*_ZIG, "cc", *options, *flags, "-shared", "-fPIC", "-o", str(output), str(source))
    return output


def compile_gemm(folder: Path) -> Path:
    """Compile the device code of the GEMM."""
    return compile_device(_REPOSITORY / "kernels/gemm/gemm/gemm.hip", folder / "gemm.co")
