"""What ``doctor --gpu`` says of a machine: each thing that is missing with what to do, what depends on it skipped."""

from pathlib import Path

import pytest

from rocmatrix.check.on_gpu.probes import probe_gpu
from rocmatrix.errors import InputError
from rocmatrix.gpu.machine import Machine
from rocmatrix.gpu.nodes import KFD
from rocmatrix.machine import Health
from rocmatrix.plan.matrix_model import CheckImage
from tests.unit.gpu.machine import MI300X, nodes

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


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("garbage", "the address of the docker engine is not one"),
        ("unix//run/docker.sock", "the address of the docker engine is not one"),
        ("tcp://example.org:2375", "the docker engine is on another machine"),
        ("ssh://me@example.org", "the docker engine is on another machine"),
    ],
)
def test_an_address_that_is_none_is_not_another_machine(host: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    probes = {probe.name: probe for probe in probe_gpu(lambda: (IMAGE,))}
    assert said in probes["GPU engine"].detail


def test_a_matrix_that_names_no_image_is_missing_them() -> None:
    probe = probe_gpu(tuple)[-1]
    assert (probe.name, probe.health) == ("GPU images", Health.MISSING)
    assert "--image" in str(probe.fix)


def test_a_matrix_that_cannot_be_read_is_told_as_that() -> None:
    def unreadable() -> tuple[CheckImage, ...]:
        raise InputError("the file is not there", where="matrix.yaml")

    probe = probe_gpu(unreadable)[-1]
    assert (probe.health, probe.detail) == (Health.MISSING, "the file is not there")


def test_a_machine_with_a_gpu_is_described_with_its_rights_and_use(machine: Machine) -> None:
    probes = {probe.name: probe for probe in probe_gpu(lambda: (IMAGE,), machine=machine)}
    assert probes["GPU driver"].detail == "amdgpu 6.16.13"
    assert probes["GPUs"].detail == "2, 2 of them visible"
    assert probes["GPU chosen"].detail == "MI300X (gfx942), /dev/dri/renderD128, 103.1 of 206.1 GB in use"
    assert (probes["GPU rights"].health, probes["GPU engine"].health) == (Health.MISSING, Health.MISSING)
    assert "no device node" in probes["GPU rights"].detail  # the folder has no render node


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Two GPUs, the first half full, and no render node."""
    device = tmp_path / "drm" / "renderD128" / "device"
    device.mkdir(parents=True)
    (device / "mem_info_vram_total").write_text("206141652992\n")
    (device / "mem_info_vram_used").write_text("103070826496\n")
    (tmp_path / "version").write_text("6.16.13\n")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "kfd").symlink_to("/dev/null")
    found = nodes(tmp_path, MI300X, MI300X | {"drm_render_minor": 136})
    return Machine(nodes=found, drm=tmp_path / "drm", driver_version=tmp_path / "version", devices=tmp_path / "dev")
