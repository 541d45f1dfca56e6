"""Which executor a check gets, and what is said of that."""

from pathlib import Path

import pytest

from rocmatrix.check.executors import make_executor
from rocmatrix.check.on_gpu.choice import Wanted
from rocmatrix.check.options import CheckOptions, On
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import ExitCode, InputError, MissingRequirementError
from rocmatrix.events import Event, Notice
from rocmatrix.plan.model import Plan

NOTHING = Plan(kernels=(), toolchains=(), cells=(), units=())


def make(options: CheckOptions, folder: Path) -> list[Event]:
    events: list[Event] = []
    wanted = Wanted(plan=NOTHING, units=(), images=tuple)
    make_executor(options, wanted, engine=HostEngine(), cache=folder, emit=events.append)
    return events


def test_auto_says_what_it_chose_and_why(tmp_path: Path) -> None:
    (notice,) = make(CheckOptions(), tmp_path)
    assert isinstance(notice, Notice)
    assert notice.message.startswith("check chose the emulator (--on auto): ")
    assert "/dev/kfd" in notice.message


def test_who_asked_for_the_emulator_is_told_nothing(tmp_path: Path) -> None:
    assert make(CheckOptions(on=On.EMULATOR), tmp_path) == []


def test_a_gpu_is_never_replaced_in_silence(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="no AMD GPU") as caught:
        make(CheckOptions(on=On.GPU), tmp_path)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.where == "--on gpu"


def test_an_unknown_device_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no emulated device 'mi250'") as caught:
        make(CheckOptions(on=On.EMULATOR, device="mi250"), tmp_path)
    assert "mi300x, mi300a, mi308x, mi300x-cpx" in str(caught.value)
