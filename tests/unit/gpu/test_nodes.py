"""Device nodes: whether an ordinary user of a container can open them, and by which group."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmatrix.errors import MissingRequirementError
from rocmatrix.gpu.nodes import access_to, require_driver
from rocmatrix.gpu.topology import Gpu

GPU = Gpu(index=0, node=2, gfx="gfx942", device_id=0x74A1, unique_id=1, render_minor=136)


class Devices:
    """A folder of device nodes: terminals of this test, whose rights it may set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open: list[int] = []
        (folder / "dri").mkdir()

    def node(self, name: str, mode: int, *, group: int = 4242) -> Path:
        master, slave = os.openpty()
        self.open += [master, slave]
        terminal = Path(os.ttyname(slave))
        terminal.chmod(mode)
        if os.getuid() == 0:
            os.chown(terminal, -1, group)  # of some systems they belong to root's group
        (self.folder / name).symlink_to(terminal)
        return terminal


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[Devices]:
    """Device nodes that are closed again."""
    made = Devices(tmp_path)
    yield made
    for number in made.open:
        os.close(number)


def test_groups_are_the_numbers_that_own_the_nodes(devices: Devices) -> None:
    owner = devices.node("kfd", 0o660).stat().st_gid
    devices.node("dri/renderD136", 0o660)
    access = access_to(GPU, devices=devices.folder)
    assert access.nodes == (str(devices.folder / "kfd"), str(devices.folder / "dri" / "renderD136"))
    assert access.groups == (owner,)


def test_what_everybody_may_open_needs_no_group(devices: Devices) -> None:
    devices.node("kfd", 0o666)
    devices.node("dri/renderD136", 0o666)
    assert access_to(GPU, devices=devices.folder).groups == ()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o622])
def test_what_no_ordinary_user_may_open_is_refused_with_what_to_do(devices: Devices, mode: int) -> None:
    devices.node("kfd", mode)
    devices.node("dri/renderD136", 0o666)
    with pytest.raises(MissingRequirementError, match=f"no ordinary user may open .*kfd .mode 0{mode:o}") as caught:
        access_to(GPU, devices=devices.folder)
    assert "chgrp render" in str(caught.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a node to root's group")
def test_root_s_group_is_given_to_nobody(devices: Devices) -> None:
    devices.node("kfd", 0o660, group=0)
    devices.node("dri/renderD136", 0o666)
    with pytest.raises(MissingRequirementError, match=r"no ordinary user may open .*kfd .mode 0660, group 0"):
        access_to(GPU, devices=devices.folder)


def test_a_render_node_that_is_not_there_is_named(devices: Devices) -> None:
    devices.node("kfd", 0o666)
    with pytest.raises(MissingRequirementError, match=r"there is no device node .*renderD136"):
        access_to(GPU, devices=devices.folder)


def test_a_file_is_no_device(devices: Devices) -> None:
    (devices.folder / "kfd").write_text("")
    with pytest.raises(MissingRequirementError, match="kfd is no device node"):
        access_to(GPU, devices=devices.folder)


def test_a_machine_without_the_driver_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="no AMD GPU") as caught:
        require_driver(tmp_path / "kfd")
    assert "--on emulator" in str(caught.value)
    (tmp_path / "kfd").touch()
    require_driver(tmp_path / "kfd")
