from pathlib import Path

import pytest

from rocmatrix.build.diagnostics import first_error

PROJECT = Path("/scratch/project")


def failed(printed: str, *, before: str = "", after: str = "") -> str:
    command = "clang -c /scratch/project/gemm.hip -o /scratch/work/gemm.o"
    return f"{before}FAILED: [code=1] /scratch/work/gemm.o \n{command}\n{printed}{after}ninja: build stopped: x.\n"


def test_the_first_error_comes_with_its_source_line_and_not_the_next_one() -> None:
    printed = (
        "/scratch/project/gemm/gemm.hip:3:1: warning: unused\n"
        "/scratch/project/gemm/gemm.hip:12:5: error: use of undeclared identifier 'x'\n"
        "   12 |   x = 1;\n"
        "      |   ^\n"
        "/scratch/project/gemm/gemm.hip:13:5: error: another\n"
        "2 errors generated.\n"
    )
    assert first_error(failed(printed), PROJECT) == (
        "gemm/gemm.hip:12:5: error: use of undeclared identifier 'x'\n   12 |   x = 1;\n      |   ^"
    )


@pytest.mark.parametrize(
    "line",
    [
        "torch-ext/torch_binding.cpp:1:10: fatal error: 'missing.h' file not found",
        "ld.lld: error: undefined symbol: hipLaunchKernel",
        "/usr/bin/ld.lld: error: undefined symbol: hipLaunchKernel",
        "error: undefined symbol: f()",
        "clang: error: unknown argument: '-fno-such'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        "a.cpp:3: error: old style",
        "zig: error: no such file or directory: 'x.hip'",
    ],
)
def test_errors_of_all_tools_are_found_among_other_lines(line: str) -> None:
    assert first_error(failed(f"In file included from a.h:1:\nnote: hello\n{line}\n"), PROJECT) == line


def test_other_commands_and_ninja_itself_are_not_quoted() -> None:
    text = failed(
        "a.cpp:1:1: error: mine\n",
        before="[1/3] c++ z.cpp\nz.cpp:1:1: warning: error: in a warning\n",
        after="[2/3] c++ b.cpp\nb.cpp:9:9: error: other\n",
    )
    assert first_error(text, PROJECT) == "a.cpp:1:1: error: mine"


def test_without_an_error_line_the_end_of_the_output_is_shown() -> None:
    assert first_error(failed("".join(f"line {i}\n" for i in range(20))), PROJECT).splitlines()[-1] == "line 19"
    assert len(first_error(failed("".join(f"line {i}\n" for i in range(20))), PROJECT).splitlines()) == 8


def test_a_silent_failure_is_said() -> None:
    assert first_error(failed(""), PROJECT) == "the command failed and printed nothing"


def test_a_complaint_of_ninja_itself_is_the_error() -> None:
    assert first_error("ninja: error: 'x.h', needed by 'y', missing and no known rule to make it\n", PROJECT) == (
        "error: 'x.h', needed by 'y', missing and no known rule to make it"
    )


def test_a_warning_that_quotes_an_error_is_none() -> None:
    printed = 'a.cpp:7:2: warning: "fake.cpp:1:1: error: not real"\na.cpp:8:5: error: real\n'
    assert first_error(failed(printed), PROJECT) == "a.cpp:8:5: error: real"


@pytest.mark.parametrize("line", ["<inline asm>:1:2: error: invalid instruction", "Bus error", "ld.lld: error: x"])
def test_an_error_without_a_source_names_the_step(line: str) -> None:
    before = "[1/3] c++ b.cpp\n[2/3] device k/k.hip for gfx942\n"
    said = first_error(failed(f"{line}\n", before=before), PROJECT)
    assert said == f"{line}\nin the step: device k/k.hip for gfx942"


@pytest.mark.parametrize(("code", "ended"), [(137, "was killed by signal 9"), (1, "failed")])
def test_a_command_that_says_nothing_is_told_by_how_it_ended(code: int, ended: str) -> None:
    output = failed("").replace("[code=1]", f"[code={code}]")
    assert first_error(output, PROJECT) == f"the command {ended} and printed nothing"
