"""Variant names are exactly those that the kernels client reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.plan.model import Abi
from rocmatrix.plan.variants import Variant, parse_variant, variant_name
from tests.unit.plan.client import client_choice, client_name

torches = st.integers(0, 99).map(lambda minor: f"2.{minor}")
rocms = st.builds(lambda major, minor: f"{major}.{minor}", st.integers(5, 19), st.integers(0, 99))
compiled = st.sampled_from([Abi.STABLE, Abi.PER_TORCH])


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (Variant(abi=Abi.STABLE, torch="2.10", rocm="7.2", cpu="x86_64"), "torch-stable-abi210-rocm72-x86_64-linux"),
        (Variant(abi=Abi.STABLE, torch="2.9", rocm="7.14", cpu="x86_64"), "torch-stable-abi29-rocm714-x86_64-linux"),
        (Variant(abi=Abi.PER_TORCH, torch="2.13", rocm="7.2", cpu="x86_64"), "torch213-cxx11-rocm72-x86_64-linux"),
        (Variant(abi=Abi.PER_TORCH, torch="2.13", rocm="6.4", cpu="aarch64"), "torch213-cxx11-rocm64-aarch64-linux"),
        (Variant(abi=Abi.NOARCH), "torch-rocm"),
    ],
)
def test_names_as_the_hub_has_them(variant: Variant, name: str) -> None:
    cpu = {"cpu": variant.cpu} if variant.cpu else {}
    assert variant_name(variant.abi, torch=variant.torch, rocm=variant.rocm, **cpu) == name
    assert parse_variant(name) == variant


@given(abi=compiled, torch=torches, rocm=rocms)
def test_a_name_parses_back_to_what_it_was_made_of(abi: Abi, torch: str, rocm: str) -> None:
    name = variant_name(abi, torch=torch, rocm=rocm)
    assert parse_variant(name) == Variant(abi=abi, torch=torch, rocm=rocm, cpu="x86_64")


@pytest.mark.parametrize(
    ("digits", "rocm"), [("714", "7.14"), ("72", "7.2"), ("100", "10.0"), ("1014", "10.14"), ("61", "6.1")]
)
def test_the_dot_of_rocm_is_put_back_where_it_can_only_have_been(digits: str, rocm: str) -> None:
    assert parse_variant(f"torch213-cxx11-rocm{digits}-x86_64-linux").rocm == rocm


@given(abi=compiled, torch=torches, rocm=rocms)
def test_the_client_parses_and_prints_the_same_name(abi: Abi, torch: str, rocm: str) -> None:
    name = variant_name(abi, torch=torch, rocm=rocm)
    assert client_name(name) == name


@given(abi=compiled, torch=torches, rocm=rocms)
def test_the_client_loads_a_variant_for_the_versions_it_is_named_for(abi: Abi, torch: str, rocm: str) -> None:
    name = variant_name(abi, torch=torch, rocm=rocm)
    assert client_choice([name], torch=torch, hip=f"{rocm}.26015-fc0010cf6a") == name


def test_the_client_reads_the_noarch_name_as_rocm() -> None:
    assert client_choice([variant_name(Abi.NOARCH)], torch="2.13", hip="7.2.0") == "torch-rocm"


def test_a_tagless_name_is_read_as_per_torch() -> None:
    assert parse_variant("torch29-rocm72-x86_64-linux").torch == "2.9"


@pytest.mark.parametrize(
    "name",
    [
        "torch213-cxx11-cu130-x86_64-linux",
        "torch213-cxx98-rocm72-x86_64-linux",
        "torch213-cxx11-rocm72-x86_64-windows",
        "torch-cuda",
        "torch-universal",
        "torch2-cxx11-rocm72-x86_64-linux",
        "torch201-cxx11-rocm72-x86_64-linux",
        "torch213-cxx11-rocm72-x86_64-linux\n",
        "torch213-cxx11-rocm45-x86_64-linux",
        "torch213-cxx11-rocm201-x86_64-linux",
        "torch213-cxx11-rocm100000-x86_64-linux",
        "torch\u0662\u0661\u0663-cxx11-rocm72-x86_64-linux",
        "",
    ],
)
def test_other_names_are_not_rocm_variants(name: str) -> None:
    with pytest.raises(ValueError, match="not"):
        parse_variant(name)


@pytest.mark.parametrize(("torch", "rocm"), [(None, "7.2"), ("2.13", None), ("2.13.0", "7.2"), ("13.0", "7.2")])
def test_versions_that_no_name_can_hold_are_refused(torch: str | None, rocm: str | None) -> None:
    with pytest.raises(ValueError, match="version"):
        variant_name(Abi.STABLE, torch=torch, rocm=rocm)


def test_noarch_has_no_versions() -> None:
    with pytest.raises(ValueError, match="noarch"):
        variant_name(Abi.NOARCH, torch="2.13")
