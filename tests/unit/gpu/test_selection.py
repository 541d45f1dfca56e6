"""Which GPU is used: ``--gpu`` counts among what the environment leaves visible."""

from pathlib import Path

import pytest

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.gpu.selection import choose, visible
from rocmatrix.gpu.topology import Gpu, list_gpus
from tests.unit.gpu.machine import MI300X, nodes


@pytest.fixture
def gpus(tmp_path: Path) -> tuple[Gpu, ...]:
    """Four cards."""
    each = (MI300X | {"drm_render_minor": 128 + 8 * place, "unique_id": 0xA0 + place} for place in range(4))
    return list_gpus(nodes(tmp_path, *each))


@pytest.mark.parametrize(
    ("environment", "indexes"),
    [
        ({}, [0, 1, 2, 3]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-a2, 0"}, [2, 0]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "1"}, [3]),
        ({"HIP_VISIBLE_DEVICES": "1,-1,2"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,9,2"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,٢"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": f"2,{'9' * 5000}"}, [2]),
        ({"HIP_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "GPU-ff"}, []),
    ],
)
def test_the_environment_narrows_as_the_runtimes_do(
    gpus: tuple[Gpu, ...], environment: dict[str, str], indexes: list[int]
) -> None:
    assert [gpu.index for gpu in visible(gpus, environment)] == indexes


def test_a_number_counts_among_the_visible(gpus: tuple[Gpu, ...]) -> None:
    assert choose(gpus, None, {}).index == 0
    assert choose(gpus, 1, {"HIP_VISIBLE_DEVICES": "2,3"}).index == 3
    with pytest.raises(InputError, match="no visible GPU 2") as caught:
        choose(gpus, 2, {"HIP_VISIBLE_DEVICES": "2,3"})
    assert "0: gfx942, /dev/dri/renderD144; 1: gfx942, /dev/dri/renderD152" in str(caught.value)


def test_what_hides_all_of_them_is_named(gpus: tuple[Gpu, ...]) -> None:
    with pytest.raises(MissingRequirementError, match="HIP_VISIBLE_DEVICES hides all 4 GPUs"):
        choose(gpus, None, {"HIP_VISIBLE_DEVICES": "-1"})
    with pytest.raises(MissingRequirementError, match="names no GPU"):
        choose((), None, {"HIP_VISIBLE_DEVICES": "0"})
