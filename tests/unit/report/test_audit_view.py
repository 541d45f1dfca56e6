"""The audit for people: kernels told apart, findings told once, differences with their signs."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rocmatrix.audit.difference import difference
from rocmatrix.audit.kernel_audit import AuditSet
from rocmatrix.binary.kernel_facts import HotLoop, InstructionMix, Kernel
from rocmatrix.records import Finding, Outcome, Severity
from rocmatrix.report.audit_difference import show_difference
from rocmatrix.report.audit_view import counts, grouped
from rocmatrix.report.kernel_table import MOST_ROWS, kernel_rows, mix_in_words, show_kernels
from tests.unit.audit.samples import code
from tests.unit.audit.test_difference import audited, binary, set_of
from tests.unit.audit.test_rules_device import kernel

FINDING = Finding(rule="needed", severity=Severity.ERROR, what="w", where="a", fix="f", source="s")
MIX = InstructionMix(
    matrix={"v_mfma_a": 60, "v_mfma_b": 4},
    valu=91,
    salu=3,
    lds=1,
    vmem=0,
    smem=1,
    barriers=1,
    waits=12,
    branches=1,
    other=0,
)


def shown(*kernels: Kernel, width: int = 160) -> list[str]:
    rows = list(kernel_rows((), (code(kernels=kernels),)))
    console = Console(file=io.StringIO(), width=width, markup=False)
    show_kernels(rows, console)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_kernel_has_a_line_with_its_numbers() -> None:
    loop = HotLoop(address=0, end=8, instructions=170, mix=MIX)
    (_, line) = shown(replace(kernel("gemm", None), vgprs=228, sgprs=48, lds=36864, hot_loop=loop))
    assert line.split()[:8] == ["gemm", "gfx942", "228", "0", "48", "0", "36864", "0"]
    assert line.endswith("64 MFMA, 91 VALU, 1 LDS, 1 barrier, 12 waits")


BIG = replace(
    kernel("_ZN14rocmatrix_gemm11gemm_kernelILNS_10ContiguousE1EEvPKhS3_PKfS5_Ptiii", None),
    vgprs=228,
    agprs=256,
    sgprs=102,
    lds=65536,
    scratch=16384,
    vgpr_spills=1234,
    hot_loop=HotLoop(address=0, end=8, instructions=170, mix=MIX),
)
LOOP = "64 MFMA, 91 VALU, 1 LDS, 1 barrier, 12 waits"


@pytest.mark.parametrize("width", [40, 80, 90, 100, 110, 120, 200])
def test_no_figure_is_cut_in_any_width(width: int) -> None:
    lines = shown(BIG, replace(BIG, name="second"), width=width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).replace(",", " ").replace(":", " ").replace(";", " ").split()
    for figure in ("gfx942", "228", "256", "102", "65536", "16384", "1234"):
        assert words.count(figure) == 2
    for heading in ("VGPR", "AGPR", "SGPR", "spills", "LDS", "scratch", "waves/SIMD"):
        assert heading in words
    for part in ("64", "MFMA", "91", "VALU", "12", "waits"):
        assert words.count(part) >= 2


def test_a_narrow_console_gets_each_kernel_in_words() -> None:
    narrow = shown(BIG, width=80)
    assert narrow == [
        BIG.name,
        "  gfx942: 228 VGPR, 256 AGPR, 102 SGPR, spills 1234, LDS 65536, scratch 16384",
        f"  waves/SIMD ?; hot loop: {LOOP}",
    ]
    heading, *_ = shown(BIG, width=120)
    assert heading.split()[:3] == ["kernel", "gfx", "VGPR"]


def test_very_many_kernels_are_counted_in_a_narrow_console_too() -> None:
    lines = shown(*(kernel(f"k{number}", None) for number in range(MOST_ROWS + 5)), width=50)
    assert lines[-1] == "and 5 kernels more"
    assert f"k{MOST_ROWS}" not in lines


def test_what_is_not_known_is_not_made_up() -> None:
    unknown = replace(kernel("gemm", None), agprs=None, vgpr_spills=None, sgpr_spills=None)
    assert shown(unknown)[1].split() == ["gemm", "gfx942", "8", "?", "8", "?", "0", "0", "?", "not", "read"]
    assert shown(kernel("gemm", MIX))[1].endswith("no loop")


def test_long_names_that_begin_alike_are_told_apart() -> None:
    begin = "_ZN14rocmatrix_gemm11gemm_kernelILNS_10ContiguousE"
    lines = shown(*(kernel(f"{begin}{number}EEvPKhS3_PKfS5_Ptiii", None) for number in range(3)))[1:]
    assert [line.split()[0] for line in lines] == [f"_ZN14rocmatr…{number}EEvPKhS3_PKfS5_Ptiii" for number in range(3)]


def test_very_many_kernels_are_counted() -> None:
    lines = shown(*(kernel(f"k{number}", None) for number in range(MOST_ROWS + 5)))
    assert len(lines) == MOST_ROWS + 2
    assert lines[-1] == "and 5 kernels more"


def test_a_loop_without_any_of_them_has_nothing_of_note() -> None:
    nothing = replace(MIX, matrix={}, valu=0, lds=0, barriers=0, waits=0)
    assert mix_in_words(nothing) == "nothing of note"


def test_findings_that_differ_in_their_place_are_one_and_errors_come_first() -> None:
    note = replace(FINDING, severity=Severity.NOTE)
    places = [replace(FINDING, where=place) for place in "abcdefgh"]
    first, second = grouped([note, *places])
    assert (first.severity, first.where) == (Severity.ERROR, "a; b; c; d; e and 3 more places")
    assert second == note


@pytest.mark.parametrize(
    ("severities", "said"),
    [
        ([], "0 errors, 0 warnings"),
        ([Severity.ERROR, Severity.NOTE, Severity.NOTE], "1 error, 0 warnings, 2 notes"),
    ],
)
def test_findings_are_counted_by_severity(severities: list[Severity], said: str) -> None:
    assert counts([replace(FINDING, severity=severity) for severity in severities]) == said


def test_a_difference_has_signs_and_sizes() -> None:
    after = set_of(audited(binary(size=2500, needed=("libz.so.1",)), name="v"), path="new")
    before = set_of(audited(binary(size=1000), name="v"), path="old")
    console = Console(file=io.StringIO(), width=120, markup=False)
    show_difference(difference(after, before), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[:2] == ["- old", "+ new"]
    assert "  size: 1.0 kB -> 2.5 kB (+1.5 kB)" in lines
    assert lines[-1].startswith("1 file of 1 differ")


def test_nothing_differs() -> None:
    same = AuditSet(path="p", outcome=Outcome.PASSED, audits=(audited(binary()),))
    console = Console(file=io.StringIO(), width=120, markup=False)
    show_difference(difference(same, same), console)
    assert isinstance(console.file, io.StringIO)
    assert "nothing differs" in console.file.getvalue()
