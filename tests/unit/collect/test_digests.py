"""Our digest of a variant is the client's."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernels._rust import Digest, DigestAlgorithm

from rocmatrix.collect.digests import hash_variant

NAMES = st.sampled_from(
    [
        "__init__.py",
        "x.abi3.so",
        "metadata.json",
        "metadata.json.sigstore",
        "a.pyc",
        "a.pyc.txt",
        ".hidden",
        "__pycache__",
        "sub",
        "täble",
        "a b\n",
    ]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def by_the_client(folder: Path) -> dict[str, str]:
    return dict(Digest.hash_variant(DigestAlgorithm.SHA256, folder).files)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(files=st.dictionaries(PATHS, st.binary(max_size=20), max_size=8))
def test_any_tree_is_hashed_as_the_client_does(tmp_path: Path, files: dict[str, bytes]) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        if path.is_dir() or any(parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    made = hash_variant(folder)
    assert made.files == by_the_client(folder)
    assert list(made.files) == sorted(made.files)


def test_links_to_files_count_and_links_to_folders_do_not_as_with_the_client(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data.bin").write_bytes(b"data")
    folder = tmp_path / "variant"
    folder.mkdir()
    (folder / "file-link").symlink_to(outside / "data.bin")
    (folder / "folder-link").symlink_to(outside)
    assert set(hash_variant(folder).files) == {"file-link"}
    assert hash_variant(folder).files == by_the_client(folder)
