"""Products by PCI device id; ``products.toml`` has them with their sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product.

    Attributes:
        id: PCI device id.
        name: for people.
        mi300x: whether a run on it is one on an MI300X.
    """

    id: int
    name: str
    mi300x: bool
    source: str
    date: str
    verified: bool


def product_of(device_id: int) -> Product | None:
    """Return the product of a PCI device id; ``None`` for one that is not known here."""
    return next((one for one in _products() if one.id == device_id), None)


@cache
def _products() -> tuple[Product, ...]:
    table = tomllib.loads(files(__package__).joinpath("products.toml").read_text(encoding="utf-8"))
    return msgspec.convert(table["products"], tuple[Product, ...])
