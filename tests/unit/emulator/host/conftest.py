"""The stand-ins, compiled once, and device memory that each test has for itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.torch_library import TorchLibrary
from rocmatrix.engine.host import HostEngine

MEMORY = 1 << 24


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena(MEMORY)
    yield made
    made.close()


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> RuntimeCompiler:
    return RuntimeCompiler(engine=HostEngine(), cache=tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture
def torch_stand_in(compiler: RuntimeCompiler, arena: Arena) -> TorchLibrary:
    return TorchLibrary(compiler.torch(), arena, (2, 13))


@pytest.fixture(scope="session")
def hip_stand_in(compiler: RuntimeCompiler) -> Path:
    return compiler.hip("libamdhip64.so.7")
