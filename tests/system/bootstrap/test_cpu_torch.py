"""Which torch the tests would get: real dry runs of pip against an index that has this or that build."""

import sys
from pathlib import Path

import pytest
from private_environment.cpu_torch import Choice, NoCpuTorchError, find_torch

from tests.system.bootstrap.index import Index
from tests.system.bootstrap.wheels import wheel

CHOICE = Choice(version="2.13.0+cpu", places=((),))


@pytest.fixture
def configured(index: Index, monkeypatch: pytest.MonkeyPatch) -> Index:
    """Make the index of the test the one that pip is configured with."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    return index


def offer(index: Index, version: str, *requires: str) -> str:
    name, content = wheel("torch", version, requires=requires)
    index.files[name] = content
    return name


def test_a_cpu_build_is_found_with_its_hash(configured: Index) -> None:
    offer(configured, "2.13.0", "nvidia-cublas==13.0")
    offer(configured, "2.13.0+cpu", "filelock")
    found = find_torch(Path(sys.executable), CHOICE)
    assert found.version == "2.13.0+cpu"
    assert len(found.sha256) == 64


def test_a_cuda_build_is_not_even_downloaded(configured: Index) -> None:
    name = offer(configured, "2.13.0", "nvidia-cublas==13.0")
    with pytest.raises(NoCpuTorchError, match="was found: pip's own configuration"):
        find_torch(Path(sys.executable), CHOICE)
    assert not any(request.endswith(name) for request in configured.requests)


def test_a_cpu_build_that_asks_for_cuda_is_refused(configured: Index) -> None:
    offer(configured, "2.13.0+cpu", "nvidia-cublas==13.0")
    with pytest.raises(NoCpuTorchError, match="asks for nvidia-cublas"):
        find_torch(Path(sys.executable), CHOICE)


def test_a_place_that_does_not_answer_gives_way_to_the_next(configured: Index) -> None:
    offer(configured, "2.13.0+cpu")
    dead = ("--index-url=http://127.0.0.1:9/simple", "--timeout=1", "--retries=0")
    found = find_torch(Path(sys.executable), Choice(version="2.13.0+cpu", places=(dead, ())))
    assert found.url.startswith(configured.url.removesuffix("/simple"))
