from pathlib import Path

import pytest
from tests.unit.build.small import BUILD_TOML, make_project, make_unit

from rocmatrix.build.identity import RECIPE_VERSION, extension_name, input_digests, inputs_digest, uid
from rocmatrix.build.sources import read_project
from rocmatrix.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def paths(folder: Path) -> list[str]:
    return [file.path for file in read_project(folder).files]


def change(folder: Path, old: str, new: str) -> None:
    (folder / "build.toml").write_text(BUILD_TOML.replace(old, new))


def test_a_build_reads_what_is_declared_and_nothing_else(folder: Path) -> None:
    assert paths(folder) == [
        "build.toml",
        "include/deep/small.h",
        "small/one.hip",
        "small/two.hip",
        "torch-ext/small_kernel/__init__.py",
        "torch-ext/small_kernel/configs/tuned.json",
        "torch-ext/small_kernel/layers/__init__.py",
        "torch-ext/small_kernel/notes.txt",
        "torch-ext/torch_binding.cpp",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "torch-ext/registration.h",
        "torch-ext/small_kernel/_ops.py",
        "torch-ext/small_kernel/__pycache__/x.pyc",
        "torch-ext/.cache/x.py",
        "include/.hidden.h",
        "build/torch213/x.h",
    ],
)
def test_what_builds_and_editors_leave_behind_is_no_source(folder: Path, name: str) -> None:
    before = uid(read_project(folder))
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("left behind")
    assert name not in paths(folder)
    assert uid(read_project(folder)) == before


def test_sources_of_other_backends_are_not_read(folder: Path) -> None:
    cuda = '\n[kernel.cuda]\nbackend = "cuda"\ndepends = ["torch"]\nsrc = ["cuda/missing.cu"]\n'
    (folder / "build.toml").write_text(BUILD_TOML + cuda)
    assert "cuda/missing.cu" not in paths(folder)


def test_headers_of_the_whole_project_can_be_included_without_its_readme(folder: Path) -> None:
    change(folder, 'include = ["include"]', 'include = ["."]')
    assert "README.md" not in paths(folder)
    assert {"include/deep/small.h", "small/not-declared.hip"} <= set(paths(folder))


def test_the_private_copy_has_the_same_files(folder: Path, tmp_path: Path) -> None:
    project = read_project(folder)
    project.write_to(tmp_path / "copy")
    assert paths(tmp_path / "copy") == [file.path for file in project.files]


@pytest.mark.parametrize(
    ("name", "key"),
    [("small/one.hip", "kernel.small.src"), ("torch-ext/torch_binding.cpp", "torch.src")],
)
def test_a_missing_file_is_named_with_its_key(folder: Path, name: str, key: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match="is not there") as caught:
        read_project(folder)
    assert caught.value.where == f"{folder}/build.toml: {key}"
    assert name in caught.value.what


def test_a_missing_include_folder_is_named(folder: Path) -> None:
    change(folder, 'include = ["include"]', 'include = ["nowhere"]')
    with pytest.raises(InputError, match="the folder nowhere is not there"):
        read_project(folder)


def test_a_link_out_of_the_project_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "small/one.hip").unlink()
    (folder / "small/one.hip").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="lies outside the project"):
        read_project(folder)


def test_a_link_to_itself_and_a_folder_are_no_sources(folder: Path) -> None:
    (folder / "small/one.hip").unlink()
    (folder / "small/one.hip").symlink_to("one.hip")
    with pytest.raises(InputError, match="cannot be read"):
        read_project(folder)
    (folder / "small/one.hip").unlink()
    (folder / "small/one.hip").mkdir()
    with pytest.raises(InputError, match="not a regular file"):
        read_project(folder)


def test_a_module_without_init_or_nested_in_itself_is_refused(folder: Path) -> None:
    nested = folder / "torch-ext/small_kernel/small_kernel/__init__.py"
    nested.parent.mkdir()
    nested.write_text("")
    with pytest.raises(InputError, match="there is a small_kernel inside small_kernel"):
        read_project(folder)
    nested.unlink()
    (folder / "torch-ext/small_kernel/__init__.py").unlink()
    with pytest.raises(InputError, match=r"has no __init__\.py"):
        read_project(folder)


@pytest.mark.parametrize("name", ["build.toml", "small/one.hip", "include/deep/small.h", "torch-ext/torch_binding.cpp"])
def test_the_uid_depends_on_every_file_that_is_read(folder: Path, name: str) -> None:
    before = uid(read_project(folder))
    with (folder / name).open("a") as file:
        file.write("\n# more\n" if name == "build.toml" else "more\n")
    assert uid(read_project(folder)) != before


def test_the_uid_depends_on_the_recipe_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = uid(read_project(folder))
    monkeypatch.setattr("rocmatrix.build.identity.RECIPE_VERSION", RECIPE_VERSION + 1)
    assert uid(read_project(folder)) != before


def test_the_extension_is_named_as_kernel_builder_does(folder: Path) -> None:
    project = read_project(folder)
    assert extension_name(project) == f"_small_kernel_rocm_{uid(project)}"
    assert extension_name(project).isidentifier()
    assert len(uid(project)) == 8
    assert project.digest != uid(project)


def test_another_cxx_standard_is_another_build_of_the_same_name(folder: Path) -> None:
    project, unit = read_project(folder), make_unit("2.13")
    older, newer = (
        input_digests(project, unit, toolchain=None, headers=None, cxx_standard=standard)
        for standard in ("c++17", "c++20")
    )
    assert inputs_digest(older) != inputs_digest(newer)
    assert older.sources == newer.sources
