"""What the loader prints is judged: the texts are glibc's, seen in both of Debian's images."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.toolchain.hipcc.gates import exports_gate, judge_trace
from tests.unit.toolchain.hipcc.samples import PER_TORCH, request

GOOD = """\
\tlinux-vdso.so.1 (0x00007ffd)
\tlibtorch.so => /rocmatrix/out/u/work/stubs/libtorch.so (0x00007f)
\tlibamdhip64.so.6 => /lib/x86_64-linux-gnu/libamdhip64.so.6 (0x00007f)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
undefined symbol: torch_library_impl\t(./x.so)
undefined symbol: PyModule_Create2\t(./x.so)
"""


def test_torchs_functions_may_be_open(tmp_path: Path) -> None:
    gate = judge_trace(GOOD, request(tmp_path))
    assert gate.passed, gate.detail
    assert "every symbol but 2 of torch's" in gate.detail


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("undefined symbol: rocblas_sgemm\t(./x.so)", "nobody defines rocblas_sgemm"),
        ("undefined symbol: _Z12launch_scalePfi\t(./x.so)", "nobody defines _Z12launch_scalePfi"),
        ("symbol hipNew, version hip_9.0 not defined in file libamdhip64.so.6 with link time reference", "hipNew"),
        ("\tlibrocblas.so.4 => not found", "the loader does not find librocblas.so.4"),
    ],
)
def test_what_is_open_and_not_torchs_closes_the_gate(tmp_path: Path, line: str, said: str) -> None:
    gate = judge_trace(f"{GOOD}{line}\n", request(tmp_path, unit=PER_TORCH))
    assert not gate.passed
    assert said in gate.detail


def test_names_of_torchs_cxx_interface_are_for_units_of_one_torch_only(tmp_path: Path) -> None:
    said = f"{GOOD}undefined symbol: _ZNK3c1010TensorImpl5sizesEv\t(./x.so)\n"
    assert judge_trace(said, request(tmp_path, unit=PER_TORCH)).passed
    assert "_ZNK3c10" in judge_trace(said, request(tmp_path)).detail


@pytest.mark.parametrize("said", ["", "error while loading shared libraries: x.so: wrong ELF class"])
def test_a_loader_that_lists_nothing_closes_the_gate(tmp_path: Path, said: str) -> None:
    gate = judge_trace(said, request(tmp_path))
    assert not gate.passed
    assert gate.detail.startswith("the loader said: ")


def test_a_file_that_is_no_library_closes_the_gate(tmp_path: Path) -> None:
    made = replace(request(tmp_path), output=tmp_path / "x.so")
    made.output.write_bytes(b"not ELF")
    assert not exports_gate(made.output, made).passed
