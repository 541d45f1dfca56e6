"""How an image is built: what the caller's site, engine and taste bring, and nothing that could be in the image."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocmatrix.images.recipe import Recipe

REGISTRY_VARIABLE = "ROCMATRIX_IMAGES"
"""Environment variable with the ``registry`` of ``BuildOptions``."""

PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
"""Variables that every engine passes into a build without writing them into the image; also in capitals."""


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """How an image is built; nothing of it is in the image or in its digest.

    Attributes:
        certificates: PEM file with certificates of the caller's site, for proxies that intercept TLS.
        proxies: values by lower-case name; those of this process's environment if not given.
        network: ``host``, ``none`` or another network of the engine; ``None`` lets the engine choose, or takes the
            host's where the engine has no bridge.
        builder: ``auto``, ``classic`` or ``buildx``.
        registry: where images that others pushed are looked for before one is built, ``HOST/PATH``; ``None``: nowhere.
        cache: reference of a registry's cache that buildx reads and writes; ``None`` for none.
        progress: receives each line that the builder says.
    """

    certificates: Path | None = None
    proxies: Mapping[str, str] = field(default_factory=lambda: site_proxies(os.environ))
    network: str | None = None
    builder: str = "auto"
    registry: str | None = field(default_factory=lambda: os.environ.get(REGISTRY_VARIABLE) or None)
    cache: str | None = None
    progress: Callable[[str], None] = lambda _line: None


def site_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies that an environment names, by lower-case name."""
    found = {name: environment.get(name) or environment.get(name.upper()) for name in PROXIES}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, kw_only=True)
class Order:
    """One image to build, ready for any builder.

    Attributes:
        context: the build context as a tar archive.
        arguments: build arguments, proxies included.
        network: as in ``BuildOptions``, settled.
    """

    recipe: Recipe
    options: BuildOptions
    context: bytes
    arguments: Mapping[str, str]
    network: str | None
