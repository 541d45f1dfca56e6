"""build.toml against the disk: what is not there, linked, a folder, or spelled in another case is told by its key."""

import os
from pathlib import Path

import pytest

from rocmatrix.errors import ExitCode, InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import Manifest, parse_manifest
from rocmatrix.plan.project_files import require_processors, require_sources
from rocmatrix.project_listing import folder_listing
from tests.unit.plan.samples import GENERAL, NOARCH

TEXT = (
    GENERAL.replace("{name}", "gemm")
    + """
[torch]
src = ["torch-ext/binding.cpp"]
include = ["."]
[kernel.gemm]
backend = "rocm"
depends = ["torch"]
src = ["gemm/gemm.hip", "./gemm//tile.h"]
include = ["gemm"]
rocm-archs = ["gfx942", "gfx90a:xnack+", "gfx940"]
[kernel.other]
backend = "cuda"
depends = []
src = ["nowhere.cu"]
"""
)
WHERE = "gemm/build.toml"


def manifest_of(text: str) -> Manifest:
    return parse_manifest(text.encode(), WHERE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("torch-ext/binding.cpp", "gemm/gemm.hip", "gemm/tile.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def message_of(text: str, project: Path) -> str:
    with pytest.raises(InputError) as caught:
        require_sources(manifest_of(text), folder_listing(project), WHERE)
    assert caught.value.exit_code is ExitCode.INPUT
    assert caught.value.where == WHERE
    return str(caught.value)


def test_a_project_whose_files_are_there_is_taken_and_sections_for_others_are_not_looked_at(project: Path) -> None:
    require_sources(manifest_of(TEXT), folder_listing(project), WHERE)
    require_sources(manifest_of(NOARCH.replace("{name}", "gemm")), folder_listing(project / "nothing"), WHERE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "gemm/gemm.hip",
            "gemm/gem.hip",
            "kernel.gemm.src[0]: 'gemm/gem.hip' is not there\n  Did you mean 'gemm/gemm.hip'?",
        ),
        ("gemm/gemm.hip", "gem/gemm.hip", "'gem/gemm.hip': 'gem' is not there\n  Did you mean 'gemm'?"),
        ("gemm/gemm.hip", "x/y.hip", "'x/y.hip': 'x' is not there\n  Correct the path, or add what it names."),
        ("gemm/gemm.hip", "gemm/GEMM.hip", "the disk has 'gemm/gemm.hip', in other upper and lower case"),
        ("./gemm//tile.h", "./gemm//Tile.h", "kernel.gemm.src[1]: './gemm//Tile.h': the disk has 'gemm/tile.h'"),
        ("gemm/gemm.hip", "gemm", "kernel.gemm.src[0]: 'gemm' is a folder\n  A file belongs here."),
        ("gemm/gemm.hip", "gemm/tile.h/x.hip", "'gemm/tile.h' is a file\n  A folder belongs here."),
        ('include = ["gemm"]', 'include = ["gemm/tile.h"]', "kernel.gemm.include[0]: 'gemm/tile.h' is a file"),
        ('include = ["."]', 'include = ["inc"]', "torch.include[0]: 'inc' is not there"),
        ("torch-ext/binding.cpp", "torch_ext/binding.cpp", "torch.src[0]: 'torch_ext/binding.cpp': 'torch_ext' is not"),
    ],
)
def test_what_differs_from_the_disk_is_told_by_its_key(old: str, new: str, message: str, project: Path) -> None:
    assert old in TEXT
    assert message in message_of(TEXT.replace(old, new, 1), project)


def test_symbolic_links_are_refused_and_named(project: Path) -> None:
    (project / "linked").symlink_to("gemm")
    (project / "gemm" / "link.hip").symlink_to("gemm.hip")
    (project / "gemm" / "broken.hip").symlink_to("nowhere")
    for path, link in (
        ("linked/gemm.hip", "linked"),
        ("gemm/link.hip", "gemm/link.hip"),
        ("gemm/broken.hip", "gemm/broken.hip"),
    ):
        message = message_of(TEXT.replace("gemm/gemm.hip", path, 1), project)
        assert f"kernel.gemm.src[0]: '{path}': '{link}' is a symbolic link" in message
        assert "kernel-builder accepts it" in message


def test_a_named_pipe_is_no_source(project: Path) -> None:
    os.mkfifo(project / "gemm" / "pipe.hip")
    message = message_of(TEXT.replace("gemm/gemm.hip", "gemm/pipe.hip", 1), project)
    assert "'gemm/pipe.hip' is neither a file nor a folder" in message


def test_names_on_the_disk_are_never_printed_raw(project: Path) -> None:
    (project / "gemm" / "\x1b[31m::error::.hip").write_text("")
    message = message_of(TEXT.replace("gemm/gemm.hip", "gemm/31m-error.hip", 1), project)
    assert message.isascii()
    assert "\x1b" not in message


def test_an_arch_that_no_llvm_knows_is_refused_with_the_nearest() -> None:
    require_processors(manifest_of(TEXT), load_compat(), WHERE)
    with pytest.raises(InputError) as caught:
        require_processors(manifest_of(TEXT.replace("gfx942", "gfx924")), load_compat(), WHERE)
    message = str(caught.value)
    assert "gemm/build.toml: kernel.gemm.rocm-archs[0]: 'gfx924' is no processor that any LLVM knows" in message
    assert "Did you mean gfx942?" in message
    assert "kernel-builder accepts it" in message


def test_a_processor_that_no_rocm_targets_is_only_warned_about() -> None:
    require_processors(manifest_of(TEXT.replace("gfx940", "gfx1250")), load_compat(), WHERE)
