"""What became of each case: a crash, a hang and a dead container are told, at the case in which they came."""

from pathlib import Path

import pytest

from rocmatrix.check.on_gpu.answers import Answer, Answers
from rocmatrix.check.on_gpu.inside.wire import End
from rocmatrix.check.on_gpu.jobs import ComparedCase
from rocmatrix.check.on_gpu.session import Ran
from rocmatrix.check.on_gpu.verdict import ran_cases
from rocmatrix.engine.interface import Completed
from rocmatrix.errors import CheckError

NAMES = ("one", "two", "three")
LIMITS = dict.fromkeys(NAMES, 60.0)
FAULT = (
    "Memory access fault by GPU node-4 (Agent handle: 0x1f829860) on address 0x7a8a4be00000."
    " Reason: Page not present or supervisor privilege. Aborted (core dumped)"
)


def ran(*answers: Answer, returncode: int | None = 0, last: int = -1, **more: str) -> Ran:
    whole = (*answers, *(Answer() for _ in range(3 - len(answers))))
    return Ran(
        results=Path("results"),
        answers=Answers(cases=whole, found=()) if returncode == 0 and "hostile" not in more else None,
        done=Completed(returncode=returncode, output="its last words\n", seconds=2100.0, stopped=more.get("stopped")),
        last=last,
        hostile=more.get("hostile"),
    )


def ended(status: int | None, said: str = "", *, late: bool = False) -> str:
    answer = Answer(began=True, end=End(case=0, status=status, late=late, said=said))
    (case,) = ran_cases(ran(answer), NAMES, LIMITS)
    assert case.name == "one"
    return "; ".join(case.wrong)


def test_a_memory_fault_is_told_as_rocr_prints_it() -> None:
    told = ended(-6, f"noise {FAULT}")
    assert "the GPU reports: Memory access fault by GPU node-4" in told
    assert "Page not present or supervisor privilege.; it took the process down (was ended by SIGABRT)" in told


@pytest.mark.parametrize(
    ("status", "late", "told"),
    [
        (-11, False, "the process was ended by SIGSEGV while this case ran; the last it printed: noise"),
        (-9, False, "SIGKILL, as by the kernel when the container's memory is over"),
        (3, False, "ended with status 3"),
        (-9, True, "did not end within its 60 s and was killed; no other case was run after it"),
        (None, True, "could not be killed: the GPU holds it"),
    ],
)
def test_every_end_has_its_words(status: int | None, late: bool, told: str) -> None:  # noqa: FBT001
    assert told in ended(status, "noise", late=late)


def test_cases_that_did_not_begin_are_not_among_those_that_ran() -> None:
    cases = ran_cases(ran(Answer(began=True, ended=True, wrong=["x"])), NAMES, LIMITS)
    assert [case.name for case in cases] == ["one"]


def test_a_case_that_ended_without_a_result_did_not_pass() -> None:
    (case,) = ran_cases(ran(Answer(began=True, ended=True)), NAMES, LIMITS)
    assert case.wrong == ("it came to no result",)


def test_a_process_that_had_to_go_because_of_a_case_that_is_wrong_is_no_second_fault() -> None:
    answer = Answer(
        began=True, ended=True, wrong=["the GPU reports x"], end=End(case=0, status=86, late=False, said="")
    )
    assert ran_cases(ran(answer), NAMES, LIMITS)[0].wrong == ("the GPU reports x",)


def test_a_killed_container_is_a_fault_of_the_case_that_ran() -> None:
    (case,) = ran_cases(ran(returncode=None, last=2, stopped="it was ended after 2100 seconds"), NAMES, LIMITS)
    assert case == ComparedCase(name="three", results=(), wrong=case.wrong, seconds=2100.0)
    assert "the container was killed after 2100 s while this case ran" in case.wrong[0]
    assert "the results of the 2 cases before it went with the container" in case.wrong[0]


def test_a_process_that_the_gpu_holds_is_told_as_that() -> None:
    stopped = "it left processes behind that could not be ended"
    (case,) = ran_cases(ran(returncode=None, last=0, stopped=stopped), NAMES, LIMITS)
    assert "the GPU holds a process that could not be ended" in case.wrong[0]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (ran(returncode=None), "killed after 2100 s"),
        (ran(last=1, hostile="too long"), "too long"),
        (ran(), "ended without a word"),
    ],
)
def test_where_nothing_is_known_of_any_case_the_check_fails(what: Ran, told: str) -> None:
    with pytest.raises(CheckError, match=told):
        ran_cases(what, NAMES, LIMITS)


def test_a_kernel_that_torch_cannot_load_fails_with_what_torch_said() -> None:
    refused = Ran(
        results=Path("results"),
        answers=Answers(cases=(Answer(),) * 3, found=(), refused="OSError: libfoo.so.1: cannot open"),
        done=Completed(returncode=0, output="", seconds=1.0),
        last=-1,
    )
    with pytest.raises(CheckError, match=r"torch cannot load the kernel: OSError: libfoo\.so\.1"):
        ran_cases(refused, NAMES, LIMITS)
