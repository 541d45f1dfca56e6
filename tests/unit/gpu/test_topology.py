"""What the driver says of GPUs, read from folders made of what it printed on real machines."""

from pathlib import Path

from rocmatrix.gpu.products import product_of
from rocmatrix.gpu.topology import Memory, driver_version, gfx_name, list_gpus, memory_of
from tests.unit.gpu.machine import MI250X, MI300X, MI308X, nodes


def test_gpus_are_counted_in_the_driver_s_order_without_processors(tmp_path: Path) -> None:
    first, second = list_gpus(nodes(tmp_path, MI300X, MI300X | {"drm_render_minor": 136, "unique_id": 9}))
    assert (first.index, first.node, first.gfx, first.unique_id) == (0, 2, "gfx942", 4376936076086227261)
    assert (second.index, second.node) == (1, 3)
    assert second.render_node == "/dev/dri/renderD136"  # not 129: the minor does not follow from the index


def test_nodes_are_ordered_by_number_not_by_name(tmp_path: Path) -> None:
    gpus = list_gpus(nodes(tmp_path, *(MI300X | {"drm_render_minor": 128 + 8 * place} for place in range(10))))
    assert [gpu.node for gpu in gpus] == list(range(2, 12))
    assert [gpu.render_minor for gpu in gpus] == [128 + 8 * place for place in range(10)]


def test_archs_have_hexadecimal_steppings() -> None:
    assert [gfx_name(version) for version in (90402, 90010, 90500, 110003, 120001, 0)] == [
        "gfx942",
        "gfx90a",
        "gfx950",
        "gfx1103",
        "gfx1201",
        None,
    ]


def test_a_node_that_may_not_be_read_is_skipped(tmp_path: Path) -> None:
    folder = nodes(tmp_path, MI300X, MI300X)
    (folder / "2" / "properties").unlink()
    (folder / "2" / "properties").mkdir()  # reading it fails, as it does for who lacks the device
    (gpu,) = list_gpus(folder)
    assert (gpu.index, gpu.node) == (0, 3)


def test_a_machine_without_the_driver_has_none(tmp_path: Path) -> None:
    assert list_gpus(tmp_path / "nowhere") == ()


def test_only_an_mi300x_is_called_one(tmp_path: Path) -> None:
    products = [product_of(gpu.device_id) for gpu in list_gpus(nodes(tmp_path, MI300X, MI308X, MI250X))]
    assert [(each.name, each.mi300x) if each else None for each in products] == [
        ("MI300X", True),
        ("MI308X", False),
        None,
    ]


def test_memory_is_that_of_the_render_node(tmp_path: Path) -> None:
    (gpu,) = list_gpus(nodes(tmp_path, MI300X))
    device = tmp_path / "drm" / "renderD128" / "device"
    device.mkdir(parents=True)
    assert memory_of(gpu, tmp_path / "drm") is None
    (device / "mem_info_vram_total").write_text("206141652992\n")
    (device / "mem_info_vram_used").write_text("1048576\n")
    assert memory_of(gpu, tmp_path / "drm") == Memory(total=206141652992, used=1048576)


def test_a_driver_of_the_kernel_is_named_by_the_kernel(tmp_path: Path) -> None:
    assert driver_version(tmp_path / "version").startswith("amdgpu of Linux ")
    (tmp_path / "version").write_text("6.16.13\n")
    assert driver_version(tmp_path / "version") == "amdgpu 6.16.13"
