"""What became of each case, from what came out of the container: for people who were not there."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence

from rocmatrix.check.on_gpu.answers import Answer, Answers
from rocmatrix.check.on_gpu.inside.wire import End
from rocmatrix.check.on_gpu.jobs import ComparedCase
from rocmatrix.check.on_gpu.session import Ran, last_lines
from rocmatrix.errors import CheckError

_FAULT = re.compile(r"Memory access fault by GPU .*?Reason: [^.]*\.|HSA_STATUS_ERROR\w*[^.]{0,200}", re.IGNORECASE)
"""What ROCr prints before it aborts the process."""
_SHOWN = 600


def ran_cases(ran: Ran, names: Sequence[str], limits: Mapping[str, float]) -> tuple[ComparedCase, ...]:
    """Return the cases that ran, each with its results and what is wrong with it anyhow; the others were not reached.

    Raises:
        CheckError: there is no case that anything can be said of.
    """
    if ran.answers is None:
        return (_taken_down(ran, names),)
    if ran.answers.refused:
        raise CheckError(f"torch cannot load the kernel: {ran.answers.refused}", fix="No case was run.")
    cases = tuple(
        _case(name, answer, limits[name])
        for name, answer in zip(names, ran.answers.cases, strict=True)
        if answer.began or answer.end
    )
    if not cases:
        raise CheckError(f"the process that runs the cases {_first_end(ran.answers)}", fix="No case was run.")
    return cases


def _case(name: str, answer: Answer, limit: float) -> ComparedCase:
    wrong = list(answer.wrong)
    if answer.end and not (answer.ended and wrong):
        wrong.append(_ended(answer.end, limit))
    elif not answer.ended and not answer.end:
        wrong.append("it is not said how the case ended")
    elif not answer.results and not wrong:
        wrong.append("it came to no result")
    seconds = limit if answer.end and answer.end.late else answer.seconds
    return ComparedCase(name=name, results=tuple(answer.results), wrong=tuple(dict.fromkeys(wrong)), seconds=seconds)


def _ended(end: End, limit: float) -> str:
    """Say how a process ended under its case."""
    if end.late and end.status is None:
        return (
            f"the case did not end within its {limit:.0f} s, and its process could not be killed: the GPU holds it"
            " (`dmesg | grep amdgpu`); no other case was run after it"
        )
    if end.late:
        return f"the case did not end within its {limit:.0f} s and was killed; no other case was run after it"
    if fault := _FAULT.search(end.said):
        return f"the GPU reports: {fault[0]}; it took the process down ({_status(end.status)})"
    said = f"; the last it printed: {end.said[-_SHOWN:]}" if end.said else ""
    return f"the process {_status(end.status)} while this case ran{said}"


def _status(status: int | None) -> str:
    if status is None or status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    of_memory = ", as by the kernel when the container's memory is over" if name == "SIGKILL" else ""
    return f"was ended by {name}{of_memory}"


def _first_end(answers: Answers) -> str:
    end = answers.first_end
    if end is None:
        return "ended without a word"
    if end.late:
        return "did not get as far as a case within its time: loading torch or the kernel hangs"
    return f"{_status(end.status)} before the first case; the last it printed: {end.said[-_SHOWN:] or 'nothing'}"


def _taken_down(ran: Ran, names: Sequence[str]) -> ComparedCase:
    """Return the case in which the container ended; results of earlier ones went with it.

    Raises:
        CheckError: no case had begun.
    """
    how = ran.hostile or _end_of_container(ran)
    if ran.last < 0 or ran.hostile:
        raise CheckError(f"nothing can be said of any case: {how}", fix=last_lines(ran.done))
    lost = f"; the results of the {ran.last} cases before it went with the container" if ran.last else ""
    wrong = (f"{how} while this case ran{lost}; no other case was run after it",)
    return ComparedCase(name=names[ran.last], results=(), wrong=wrong, seconds=ran.done.seconds)


def _end_of_container(ran: Ran) -> str:
    done = ran.done
    if done.returncode is None and done.stopped and "processes behind" in done.stopped:
        return "the container was killed, since the GPU holds a process that could not be ended (`dmesg | grep amdgpu`)"
    if done.returncode is None:
        return f"the container was killed after {done.seconds:.0f} s"
    return f"the container's first process ended with status {done.returncode}" + (
        f": {done.stopped}" if done.stopped else ""
    )
