"""Every rule of the static detectors, in assembly: silent where the code keeps it, and found where it just does not."""

from __future__ import annotations

import pytest

from rocmatrix.emulator import analysis
from rocmatrix.emulator.analysis.hazard_rules import hazard_table
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.reports import Detector, Fault, FaultKind, UnsupportedError
from tests.system.emulator_analysis_assembly import assemble
from tests.system.emulator_analysis_cases import (
    FLOW,
    HAZARD_CASES,
    NOT_ASSEMBLED,
    PAIRS,
    UNWRITTEN_CASES,
    WAIT_CASES,
    Pair,
)

pytestmark = pytest.mark.needs_llvm

_CASES = [pair for pair in PAIRS if pair.rule not in NOT_ASSEMBLED]


def _nops(count: int) -> str:
    lines = ["s_nop 15"] * (count // 16)
    return "\n".join([*lines, *([f"s_nop {count % 16 - 1}"] if count % 16 else [])])


def _body(pair: Pair, wait: int) -> str:
    return f"{pair.first}\n{_nops(wait)}\n{pair.second}\ns_endpgm"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    bodies = {}
    for number, pair in enumerate(_CASES):
        bodies[f"kept_{number}"], bodies[f"close_{number}"] = _body(pair, pair.wait), _body(pair, pair.wait - 1)
    return assemble(bodies, tmp_path_factory.mktemp("pairs"))


def _hazards(code_object: CodeObject, kernel: str) -> tuple[Fault, ...]:
    return analysis.analyze(code_object, kernel, frozenset((Detector.HAZARDS,))).findings


def test_every_rule_of_the_table_has_a_case() -> None:
    assert {pair.rule for pair in PAIRS} == {rule.id for rule in hazard_table().rules}


@pytest.mark.parametrize("number", range(len(_CASES)), ids=[f"{n}-{pair.rule}" for n, pair in enumerate(_CASES)])
def test_one_wait_state_less_than_a_rule_asks_for_is_a_hazard(pairs: CodeObject, number: int) -> None:
    pair = _CASES[number]
    assert _hazards(pairs, f"kept_{number}") == ()
    (fault,) = _hazards(pairs, f"close_{number}")
    assert fault.kind is FaultKind.HAZARD
    assert fault.detail.endswith(f"[{pair.rule}]")
    assert f"needs {pair.wait} wait states" in fault.detail
    assert fault.instruction is not None
    assert fault.instruction.name == pair.second.split()[0].removesuffix("_dpp")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    tables = {**HAZARD_CASES, **WAIT_CASES, **UNWRITTEN_CASES}
    assert len(tables) == len(HAZARD_CASES) + len(WAIT_CASES) + len(UNWRITTEN_CASES)
    bodies = {name: f"{body}; s_endpgm" for name, (body, _) in tables.items()}
    return assemble(bodies, tmp_path_factory.mktemp("cases"))


@pytest.mark.parametrize("name", HAZARD_CASES)
def test_wait_states_are_counted_along_the_shortest_path(cases: CodeObject, name: str) -> None:
    assert len(_hazards(cases, name)) == HAZARD_CASES[name][1]


@pytest.mark.parametrize("name", WAIT_CASES)
def test_what_is_not_waited_for_on_some_path_is_reported(cases: CodeObject, name: str) -> None:
    found = analysis.analyze(cases, name, frozenset((Detector.WAITS,))).findings
    assert len(found) == WAIT_CASES[name][1], found
    assert all(fault.kind is FaultKind.WAIT and fault.wave is None for fault in found)


@pytest.mark.parametrize("name", UNWRITTEN_CASES)
def test_what_no_path_writes_is_reported_where_it_decides_something(cases: CodeObject, name: str) -> None:
    found = analysis.analyze(cases, name, frozenset((Detector.UNWRITTEN,))).findings
    assert len(found) == UNWRITTEN_CASES[name][1], found


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return assemble(FLOW, tmp_path_factory.mktemp("flow"))


@pytest.mark.parametrize("name", ["called", "called_backwards", "through_lanes"])
def test_a_call_is_followed_into_the_function_and_back(flow: CodeObject, name: str) -> None:
    report = analysis.analyze(flow, name, frozenset((Detector.WAITS,)))
    assert [fault.instruction.name for fault in report.findings if fault.instruction] == ["v_mov_b32"]
    assert report.remarks == ()
    assert analysis.analyze(flow, "called_and_waited", frozenset((Detector.WAITS,))).findings == ()


def test_a_call_to_somewhere_is_said_and_nothing_is_guessed_behind_it(flow: CodeObject) -> None:
    report = analysis.analyze(flow, "through_a_pointer", frozenset((Detector.WAITS,)))
    assert report.findings == ()
    (remark,) = report.remarks
    assert "s_swappc_b64 calls is not covered" in remark


@pytest.mark.parametrize(
    ("name", "message"),
    [("into_the_middle", "in the middle of the instruction"), ("off_the_end", "code at 0x"),
     ("no_instruction", "decodes to nothing"), ("other_matrix", "whose hazards are not known")],
)  # fmt: skip
def test_what_is_no_code_is_refused(flow: CodeObject, name: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        analysis.findings(flow, name)
