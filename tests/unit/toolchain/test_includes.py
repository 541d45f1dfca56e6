"""Which files a source may include: never fewer than the compiler reads."""

from pathlib import Path

import pytest

from rocmatrix.toolchain.includes import Include, included_files, read_includes


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_h", ".h").replace("_hip", ".hip")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder: Path, files: frozenset[Path]) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in files}


def test_names_quotes_and_lines_are_read() -> None:
    text = b'#include "a.h"\n  #  include <b/c.h> // why\n#include_next <d.h>\n#include NAME\n'
    assert read_includes(text) == (
        Include(name="a.h", quoted=True, line=1),
        Include(name="b/c.h", quoted=False, line=2),
        Include(name="d.h", quoted=False, line=3),
        Include(name=None, quoted=False, line=4),
    )


def test_a_comment_is_not_read_and_keeps_the_line_numbers() -> None:
    assert read_includes(b'/* 1\n#include "a.h"\n*/ #include "b.h"\n') == (Include(name="b.h", quoted=True, line=3),)


@pytest.mark.parametrize(
    "opening", ["// see src/*.hip", 'const char* all = "src/*";', r'auto c = "\"/*";', 'auto r = R"("/*)";']
)
def test_what_only_looks_like_a_comment_hides_no_include(opening: str, tmp_path: Path) -> None:
    write(tmp_path, k_hip=f'{opening}\n#include "a.h"\n/* comment */', a_h="")
    assert names(tmp_path, included_files(tmp_path / "k.hip", [])) == {"k.hip", "a.h"}
    if "R" not in opening:
        assert [include.line for include in read_includes((tmp_path / "k.hip").read_bytes())] == [2]


def test_files_are_followed_from_one_to_the_next_and_round_in_circles(tmp_path: Path) -> None:
    write(tmp_path, k_hip='#include "a.h"', a_h='#include "sub/b.h"', sub__b_h='#include "../a.h"', other_h="")
    assert names(tmp_path, included_files(tmp_path / "k.hip", [])) == {"k.hip", "a.h", "sub/b.h"}


def test_a_file_that_is_shadowed_counts_as_well(tmp_path: Path) -> None:
    write(tmp_path, k_hip="#include <a.h>", first__a_h="", second__a_h="")
    found = included_files(tmp_path / "k.hip", [tmp_path / "first", tmp_path / "second"])
    assert names(tmp_path, found) == {"k.hip", "first/a.h", "second/a.h"}


def test_a_condition_that_may_not_hold_is_no_reason_to_leave_a_file_out(tmp_path: Path) -> None:
    write(tmp_path, k_hip='#if 0\n#include "a.h"\n#endif', a_h="")
    assert names(tmp_path, included_files(tmp_path / "k.hip", [])) == {"k.hip", "a.h"}


def test_a_continued_line_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, k_hip='#include \\\n "a.h"', a_h="")
    assert names(tmp_path, included_files(tmp_path / "k.hip", [])) == {"k.hip", "a.h"}


@pytest.mark.parametrize("text", ["#define N <a.h>\n#include N", "#if __has_include(<a.h>)\n#endif", '#embed "a.bin"'])
def test_where_reading_cannot_tell_every_file_counts(text: str, tmp_path: Path) -> None:
    write(tmp_path, k_hip=text, include__a_h="", include__deep__b_h="")
    found = included_files(tmp_path / "k.hip", [tmp_path / "include"])
    assert names(tmp_path, found) == {"k.hip", "include/a.h", "include/deep/b.h"}


def test_a_file_that_is_nowhere_is_left_to_the_compiler(tmp_path: Path) -> None:
    write(tmp_path, k_hip="#include <cstdint>\n#include <not/there.h>")
    assert names(tmp_path, included_files(tmp_path / "k.hip", [tmp_path])) == {"k.hip"}
