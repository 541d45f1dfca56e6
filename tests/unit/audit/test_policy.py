"""The policy's data: limits as upstream states them, and a stable ABI that a real Python has."""

from __future__ import annotations

import ctypes

import pytest

from rocmatrix.audit.policy import load_policy, stable_abi


def test_the_ceilings_are_those_of_manylinux_2_28() -> None:
    highest = {family: ceiling.highest for family, ceiling in load_policy().ceilings.items()}
    assert highest == {"GLIBC": "2.28", "GLIBCXX": "3.4.24", "CXXABI": "1.3.11", "GCC": "7.0.0"}


def test_every_symbol_of_the_stable_abi_is_in_this_python() -> None:
    missing = [symbol for symbol in stable_abi("3.9") if not hasattr(ctypes.pythonapi, symbol)]
    assert missing == []


@pytest.mark.parametrize(("symbol", "added"), [("PyUnicode_AsUTF8AndSize", "3.10"), ("PyObject_GetBuffer", "3.11")])
def test_a_symbol_counts_from_the_version_that_added_it(symbol: str, added: str) -> None:
    assert symbol not in stable_abi("3.9")
    assert symbol in stable_abi(added)


def test_the_hip_runtime_is_not_allowed_by_name_alone() -> None:
    policy = load_policy()
    assert not any("amdhip64" in name for name in policy.libraries | policy.rocm_stems)


def test_machine_numbers_are_those_that_other_facts_name() -> None:
    assert load_policy().machines[0x4C] == "gfx942"
    assert load_policy().machines[0x4F] == "gfx950"
