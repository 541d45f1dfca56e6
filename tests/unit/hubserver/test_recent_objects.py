"""What the embedded Hub remembers of git's objects is bounded, and never hides what came since."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich.objects import Blob
from dulwich.repo import Repo

from rocmatrix.hubserver import recent_objects
from rocmatrix.hubserver.recent_objects import add_objects, object_of


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repo]:
    """Return an empty bare repository."""
    made = Repo.init_bare(str(tmp_path / "a.git"), mkdir=True)
    yield made
    made.close()


def test_an_object_that_comes_later_is_found(repo: Repo) -> None:
    blob = Blob.from_string(b"late")
    assert object_of(repo, blob.id) is None
    repo.object_store.add_object(blob)
    found = object_of(repo, blob.id)
    assert isinstance(found, Blob)
    assert found.data == b"late"


def test_a_kept_object_is_as_it_was_stored_and_read_once(repo: Repo) -> None:
    blob = Blob.from_string(b"kept")
    repo.object_store.add_object(blob)
    object_of(repo, blob.id)
    (Path(repo.path) / "objects" / blob.id[:2].decode() / blob.id[2:].decode()).unlink()
    again = object_of(repo, blob.id)
    assert isinstance(again, Blob)
    assert (again.id, again.data) == (blob.id, b"kept")


def test_what_is_there_is_not_stored_again(repo: Repo) -> None:
    first, second = Blob.from_string(b"first"), Blob.from_string(b"second")
    for objects in ([first], [first], [first, second]):
        add_objects(repo, objects)
    with Repo(repo.path) as again:
        kept = [oid for pack in again.object_store.packs for oid in pack.index]
        assert sorted(kept) == sorted(each.id for each in (first, second))
        assert {again.object_store[each.id].as_raw_string() for each in (first, second)} == {b"first", b"second"}


def test_what_was_added_is_kept(repo: Repo) -> None:
    blob = Blob.from_string(b"added")
    add_objects(repo, [blob])
    shutil.rmtree(Path(repo.path) / "objects")
    (Path(repo.path) / "objects").mkdir()
    with Repo(repo.path) as again:
        found = object_of(again, blob.id)
    assert isinstance(found, Blob)
    assert (found.id, found.data) == (blob.id, b"added")


def test_another_repository_does_not_show_it(repo: Repo, tmp_path: Path) -> None:
    blob = Blob.from_string(b"private")
    repo.object_store.add_object(blob)
    assert object_of(repo, blob.id) is not None
    with Repo.init_bare(str(tmp_path / "b.git"), mkdir=True) as other:
        assert object_of(other, blob.id) is None


def test_a_repository_that_is_made_anew_under_the_name_does_not_show_it(repo: Repo) -> None:
    blob = Blob.from_string(b"deleted")
    repo.object_store.add_object(blob)
    assert object_of(repo, blob.id) is not None
    shutil.rmtree(repo.path)
    with Repo.init_bare(repo.path, mkdir=True) as anew:
        assert object_of(anew, blob.id) is None


def test_what_is_kept_is_bounded(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_objects, "_LARGEST", 600)
    monkeypatch.setattr(recent_objects, "_MOST_BYTES", 1000)
    monkeypatch.setattr(recent_objects, "_RECENT", recent_objects._Recent())
    first, second, large = (Blob.from_string(bytes([65 + n]) * size) for n, size in enumerate((500, 600, 601)))
    repo.object_store.add_objects([(each, None) for each in (first, second, large)])
    for each in (first, second, large):
        object_of(repo, each.id)
    kept = recent_objects._RECENT
    found = [kept.get(recent_objects._key(repo, each.id)) is not None for each in (first, second, large)]
    assert found == [False, True, False]
