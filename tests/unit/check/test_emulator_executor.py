"""Units that the emulator can say nothing of: each is told why, before anything runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.check.emulator import EmulatorExecutor
from rocmatrix.check.interface import UntestableError
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import InputError
from rocmatrix.plan.model import Plan, Unit


@pytest.fixture
def unit(plan: Plan) -> Unit:
    return plan.units[0]


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    made = tmp_path / "payload"
    made.mkdir()
    (made / "_ops.py").write_text("")
    return made


def run(unit: Unit, payload: Path) -> None:
    tests = payload.parent / "tests"
    tests.mkdir()
    executor = EmulatorExecutor(engine=HostEngine(), cache=payload.parent / "cache", budget=None)
    executor.run(unit, payload, tests, (), progress=lambda *_: None)


def test_code_for_other_gpus_is_not_executed(unit: Unit, payload: Path) -> None:
    with pytest.raises(UntestableError, match="the emulator executes gfx942, and this unit is for gfx90a, gfx950"):
        run(replace(unit, archs=("gfx90a", "gfx950")), payload)
    (payload.parent / "tests").rmdir()
    with pytest.raises(UntestableError, match="this unit is for no GPU"):
        run(replace(unit, archs=()), payload)


def test_a_payload_without_a_shared_object_is_bad_input(unit: Unit, payload: Path) -> None:
    with pytest.raises(InputError, match="one shared object, and this unit has 0"):
        run(replace(unit, archs=("gfx942",)), payload)


def test_what_is_no_shared_object_is_bad_input(unit: Unit, payload: Path) -> None:
    (payload / "_x.abi3.so").write_text("not one")
    with pytest.raises(InputError, match="this is not an ELF file"):
        run(replace(unit, archs=("gfx942",)), payload)


def test_results_are_reused_only_for_the_same_emulator_budget_device_and_seed(tmp_path: Path, unit: Unit) -> None:
    def identity(budget: float | None, device: str, seed: int = 0) -> str:
        made = EmulatorExecutor(engine=HostEngine(), cache=tmp_path, budget=budget, device=device, seed=seed)
        return made.identity(unit)

    assert identity(1.0, "mi300x") == identity(1.0, "mi300x")
    others = {identity(2.0, "mi300x"), identity(None, "mi300x"), identity(1.0, "mi300a"), identity(1.0, "mi300x", 1)}
    assert len({identity(1.0, "mi300x"), *others}) == 5
    with pytest.raises(InputError, match="no emulated device"):
        identity(1.0, "mi250")
