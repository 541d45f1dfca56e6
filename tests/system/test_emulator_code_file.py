"""Code out of the files that it ships in."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmatrix.emulator.code_file import read_code_file
from rocmatrix.errors import InputError
from rocmatrix.toolchain.bundle import write_bundle
from tests.system.emulator_compiler import compile_device, compile_host

pytestmark = pytest.mark.needs_llvm

_KERNEL = 'extern "C" __attribute__((global)) void twice(float* x) { x[__builtin_amdgcn_workitem_id_x()] *= 2; }\n'
_SHELL = 'asm(".section .hip_fatbin,\\"aR\\"\\n.p2align 12\\n.incbin \\"{path}\\"\\n.text");\nint shell;\n'


def _shared_object(folder: Path, archs: tuple[str, ...]) -> bytes:
    """Return a host shared object with a bundle that claims the same code object for each arch."""
    source = folder / "twice.hip"
    source.write_text(_KERNEL)
    code = compile_device(source, folder / "twice.co")
    bundle = folder / "twice.hipfb"
    bundle.write_bytes(write_bundle((arch, code.read_bytes()) for arch in archs))
    shell = folder / "shell.cpp"
    shell.write_text(_SHELL.format(path=bundle))
    return compile_host(shell, folder / "shell.so").read_bytes()


def test_bare_code_objects_and_shared_objects_give_the_same_kernels(tmp_path: Path) -> None:
    shared = read_code_file(_shared_object(tmp_path, ("gfx90a", "gfx942")), "shell.so")
    bare = read_code_file((tmp_path / "twice.co").read_bytes(), "twice.co")
    assert len(shared) == len(bare) == 1
    assert shared[0].kernel("twice") == bare[0].kernel("twice")
    assert "hipv4-amdgcn-amd-amdhsa--gfx942" in shared[0].where


def test_files_without_code_for_the_gpu_say_what_they_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hold: hipv4-amdgcn-amd-amdhsa--gfx90a"):
        read_code_file(_shared_object(tmp_path, ("gfx90a",)), "shell.so")
    with pytest.raises(InputError, match=r"notes.txt: this is not an ELF file"):
        read_code_file(b"just some text", "notes.txt")
