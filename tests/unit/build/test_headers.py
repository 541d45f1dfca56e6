import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.toolchain.llvm.samples import UNIT

from rocmatrix.build.headers import SharedHeaders
from rocmatrix.errors import MissingRequirementError
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.toolchain.torch_headers import stable_pin

PER_TORCH = replace(UNIT, abi=Abi.PER_TORCH, torch="2.12")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def headers(cache: Path) -> SharedHeaders:
    return SharedHeaders(replace(stable_pin(), version="9.9.9"), cache=cache, emit=lambda _: None)


@pytest.mark.parametrize("unit", [UNIT, PER_TORCH], ids=lambda unit: str(unit.abi))
def test_a_failed_fetch_is_not_tried_again(tmp_path: Path, unit: Unit) -> None:
    shared = headers(tmp_path)
    with pytest.raises(MissingRequirementError) as first:
        shared.get(unit)
    with pytest.raises(MissingRequirementError) as second:
        shared.get(unit)
    assert first.value is second.value


def test_each_torch_is_asked_for_by_itself(tmp_path: Path) -> None:
    shared = headers(tmp_path)
    said = []
    for unit in (UNIT, PER_TORCH, replace(PER_TORCH, torch="2.13")):
        with pytest.raises(MissingRequirementError) as raised:
            shared.get(unit)
        said.append(raised.value.what.partition(": ")[0])
    assert said == [f"pip finds no wheel of torch {version}" for version in ("9.9.9", "2.12.0", "2.13.0")]


def test_the_digest_for_stable_units_is_known_without_a_fetch(tmp_path: Path) -> None:
    assert headers(tmp_path).digest(UNIT) == stable_pin().headers_digest
    assert headers(tmp_path).digest(replace(UNIT, abi=Abi.NOARCH, torch=None)) is None


def test_a_torch_without_a_known_release_is_said_with_those_that_have_one(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"which release of torch 2\.6 .* only of torch 2\.8"):
        headers(tmp_path).digest(replace(PER_TORCH, torch="2.6"))
