"""Code for the emulated GPU is found in shared objects whatever kind of bundle it lies in."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.code_file import read_code_file
from rocmatrix.errors import InputError
from tests.fuzz.binaries import with_gpu_code
from tests.unit.binary.corpus import COMPRESSED, content
from tests.unit.binary.test_elf import SMALL

HOST = SMALL.read_bytes()


@pytest.mark.parametrize("name", ["plain", *COMPRESSED])
def test_a_bundle_is_opened_whether_compressed_or_not(name: str) -> None:
    (found,) = read_code_file(with_gpu_code(HOST, content(name)), "x.so")
    assert sorted(found.kernels) == ["nothing", "scale"]


def test_a_package_is_no_bundle_of_hips() -> None:
    with pytest.raises(InputError, match="holds no code object for gfx942"):
        read_code_file(with_gpu_code(HOST, content("package-19")), "x.so")
