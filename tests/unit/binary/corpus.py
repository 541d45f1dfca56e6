"""Bundles that LLVM's own tools made, and what a shared object around them looks like; see ``tests/corpus/bundles``."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.binary.facts import Bundle, CodeObject
from rocmatrix.binary.header import Span
from rocmatrix.binary.offload import GpuCode, read_gpu_code
from rocmatrix.binary.reading import Reading
from rocmatrix.binary.window import Window
from tests.unit.binary.samples import MACHINES

FOLDER = Path(__file__).parents[2] / "corpus" / "bundles"
COMPRESSED = ("zstd-1", "zstd-2", "zstd-3", "zlib-1", "zlib-2", "zlib-3")
PACKAGES = ("package-19", "package-22")


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def read(data: bytes) -> GpuCode:
    """Read data as what the loader maps of a file."""
    whole = Span(start=0, end=len(data), address=0)
    return read_gpu_code(Window(data), [whole], Reading(machines={**MACHINES, 0x2A: "gfx803"}))


def read_one(data: bytes) -> Bundle:
    (bundle,) = read(data).bundles
    return bundle


def code_objects(code: GpuCode) -> list[CodeObject]:
    return [found for bundle in code.bundles for found in bundle.code_objects]
