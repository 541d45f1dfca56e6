"""Loops of machine code: against the definition on random programs, and by hand where a person can see them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.audit.loops import find_loops
from tests.unit.audit.loop_definition import by_definition


@dataclass(frozen=True, kw_only=True)
class Line:
    """One instruction of a made-up program; four bytes each."""

    name: str
    address: int
    branch_target: int = -1


def program(*lines: str) -> list[Line]:
    """Return a program from lines such as ``v_add``, ``s_branch 3``, ``s_cbranch_scc1 0``: targets are line numbers."""
    made = []
    for number, line in enumerate(lines):
        name, _, target = line.partition(" ")
        made.append(Line(name=name, address=4 * number, branch_target=4 * int(target) if target else -1))
    return made


def loops_of(*lines: str) -> list[tuple[int, tuple[int, ...]]]:
    return [(loop.head, loop.instructions) for loop in find_loops(program(*lines))]


def test_code_without_a_jump_back_has_no_loop() -> None:
    assert loops_of("v_a", "s_cbranch_scc1 3", "v_b", "s_endpgm") == []
    assert loops_of("s_branch 2", "s_endpgm", "v_a", "s_endpgm") == []


def test_a_loop_is_what_lies_between_its_first_instruction_and_the_jump_back() -> None:
    assert loops_of("v_a", "v_b", "s_cbranch_vccnz 1", "s_endpgm") == [(1, (1, 2))]
    assert loops_of("s_cbranch_execz 0", "s_endpgm") == [(0, (0,))]


def test_nested_loops_are_two_and_the_outer_holds_the_inner() -> None:
    outer, inner = find_loops(program("v_a", "v_b", "v_c", "s_cbranch_scc1 2", "s_cbranch_scc0 1", "s_endpgm"))
    assert (outer.instructions, inner.instructions) == ((1, 2, 3, 4), (2, 3))
    assert outer.holds(inner)
    assert not inner.holds(outer)
    assert not outer.holds(outer)


def test_two_jumps_back_to_one_place_are_one_loop() -> None:
    assert loops_of("v_a", "s_cbranch_scc1 0", "v_b", "s_cbranch_scc0 0", "s_endpgm") == [(0, (0, 1, 2, 3))]


def test_a_rotated_loop_is_found_where_it_is_entered_in_the_middle() -> None:
    found = loops_of("s_branch 3", "v_a", "v_b", "v_c", "s_cbranch_scc1 1", "s_endpgm")
    assert found == [(3, (1, 2, 3, 4))]


def test_code_that_cannot_be_reached_makes_no_loop() -> None:
    assert loops_of("s_endpgm", "v_a", "s_branch 1") == []
    assert loops_of("s_setpc_b64", "v_a", "s_branch 1") == []


def test_jumps_out_of_the_code_and_no_code_at_all() -> None:
    assert loops_of("v_a", "s_cbranch_scc1 900", "s_endpgm") == []
    assert find_loops([]) == ()


lines = st.one_of(
    st.just("v_a"),
    st.just("s_endpgm"),
    st.builds("{} {}".format, st.sampled_from(["s_branch", "s_cbranch_scc1"]), st.integers(0, 15)),
)


@settings(max_examples=150)
@given(st.lists(lines, min_size=1, max_size=16))
def test_loops_are_natural_loops(text: list[str]) -> None:
    code = program(*text)
    assert {(loop.head, loop.instructions) for loop in find_loops(code)} == by_definition(code)
