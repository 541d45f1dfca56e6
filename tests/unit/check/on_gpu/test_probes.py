"""What ``doctor --gpu`` says of a machine: each thing that is missing with what to do, what depends on it skipped."""

import pytest

from rocmatrix.check.on_gpu.probes import probe_gpu
from rocmatrix.errors import InputError
from rocmatrix.gpu.nodes import KFD
from rocmatrix.machine import Health
from rocmatrix.plan.matrix_model import CheckImage

IMAGE = CheckImage(torch="2.13", rocm="7.2", reference="some/torch:2.13", where="matrix.yaml:9")


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


@pytest.mark.skipif(KFD.exists(), reason="this machine has an AMD GPU")
def test_a_machine_without_anything_is_told_what_to_do() -> None:
    probes = {probe.name: probe for probe in probe_gpu(lambda: (IMAGE,))}
    assert {name: probe.health for name, probe in probes.items()} == {
        "GPU driver": Health.MISSING,
        "GPU chosen, GPU rights": Health.SKIPPED,
        "GPU engine": Health.MISSING,
        "GPU images": Health.OK,
    }
    assert "no docker engine is running" in probes["GPU engine"].detail
    assert all(probe.fix for probe in probes.values() if probe.health is Health.MISSING)
    assert all(probe.needed_by == "check --on gpu" for probe in probes.values())
    assert not any(probe.blocks_run for probe in probes.values())


def test_a_matrix_that_names_no_image_is_missing_them() -> None:
    probe = probe_gpu(tuple)[-1]
    assert (probe.name, probe.health) == ("GPU images", Health.MISSING)
    assert "--image" in str(probe.fix)


def test_a_matrix_that_cannot_be_read_is_told_as_that() -> None:
    def unreadable() -> tuple[CheckImage, ...]:
        raise InputError("the file is not there", where="matrix.yaml")

    probe = probe_gpu(unreadable)[-1]
    assert (probe.health, probe.detail) == (Health.MISSING, "the file is not there")
