"""Which product a PCI device id is: what is called an MI300X here decides what a record says it ran on."""

import tomllib
from importlib.resources import files

import pytest

from rocmatrix import gpu
from rocmatrix.gpu.products import product_of

_TABLE = tomllib.loads(files(gpu).joinpath("products.toml").read_text(encoding="utf-8"))["products"]


@pytest.mark.parametrize("entry", [entry for entry in _TABLE if entry["mi300x"]], ids=lambda entry: hex(entry["id"]))
def test_what_counts_as_an_mi300x_was_looked_up_at_a_named_source(entry: dict[str, object]) -> None:
    assert entry["verified"] is True
    assert "@" in str(entry["source"]) or "https://" in str(entry["source"])


@pytest.mark.parametrize(("device_id", "mi300x"), [(0x74A1, True), (0x74B5, True), (0x74A2, False)])
def test_only_a_physical_or_virtual_mi300x_counts_as_one(device_id: int, *, mi300x: bool) -> None:
    product = product_of(device_id)
    assert product is not None
    assert product.mi300x is mi300x


def test_an_unknown_id_is_no_product() -> None:
    assert product_of(0xFFFF) is None
