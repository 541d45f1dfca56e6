"""Code for the emulated GPU is found in shared objects whatever kind of bundle it lies in."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.code_file import check_bundles, read_code_file
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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (content("plain").replace(b"gfx942", b"gfx90a"), "holds no code object for gfx942\n.*gfx90a"),
        (content("plain")[: len(content("plain")) // 2], "x.so"),
    ],
    ids=["another GPU", "cut off"],
)
def test_a_shared_object_whose_gpu_code_is_not_what_it_should_be_is_bad_input(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_bundles(with_gpu_code(HOST, data), "x.so")


def test_a_shared_object_may_hold_no_gpu_code_at_all() -> None:
    check_bundles(HOST, "x.so")
    check_bundles(with_gpu_code(HOST, content("plain")), "x.so")


def test_gpu_code_that_is_registered_and_cannot_be_found_is_bad_input() -> None:
    damaged = content("plain").replace(b"__CLANG_OFFLOAD", b"__CLANG_0FFLOAD", 1)
    check_bundles(with_gpu_code(HOST, content("plain")), "x.so", wanted=True)
    with pytest.raises(InputError, match=r"x.so.*holds no code object for gfx942\n.*bundles hold: none"):
        check_bundles(with_gpu_code(HOST, damaged), "x.so", wanted=True)


def test_a_note_that_names_no_kernels_is_bad_input() -> None:
    damaged = content("plain").replace(b"amdhsa.kernels", b"amdhsa.kernelz")
    with pytest.raises(InputError, match=r"metadata note of the code object cannot be read: .*amdhsa.kernels"):
        check_bundles(with_gpu_code(HOST, damaged), "x.so")
