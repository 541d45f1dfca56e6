"""Archives for and from a container."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmatrix.engine.archive import pack, unpack
from rocmatrix.engine.paths import Place
from rocmatrix.errors import BuildError, InputError

ROOM = 1 << 20


def archive(*members: tarfile.TarInfo, content: bytes = b"content\n") -> bytes:
    """Return an archive as ``get_archive`` gives it; regular files have the content."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for member in members:
            if member.isreg():
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return made.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def folder(name: str) -> tarfile.TarInfo:
    return member(name, tarfile.DIRTYPE)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    made.mkdir()
    (made / "before").write_text("before\n")
    return made


def test_what_lies_below_the_first_name_replaces_the_folder(output: Path) -> None:
    data = archive(folder("x"), folder("x/sub"), member("x/sub/a.so"), member("x/b"))
    unpack(iter([data[:700], data[700:]]), output, most_bytes=ROOM)
    assert sorted(path.relative_to(output).as_posix() for path in output.rglob("*")) == ["b", "sub", "sub/a.so"]
    assert (output / "sub/a.so").read_bytes() == b"content\n"


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([member("x/l", tarfile.SYMTYPE, "/etc/passwd")], "neither a file nor a folder"),
        ([member("x/l", tarfile.LNKTYPE, "/etc/passwd")], "neither a file nor a folder"),
        ([member("x/l", tarfile.CHRTYPE)], "neither a file nor a folder"),
        ([member("x/l", tarfile.FIFOTYPE)], "neither a file nor a folder"),
        ([member("x/l", tarfile.SYMTYPE, "/tmp"), member("x/l/a")], "neither a file nor a folder"),  # noqa: S108
        ([member("x/../../a")], "leads out of its folder"),
        ([member("x/./a")], "leads out of its folder"),
        ([member("/x/a")], "leads out of its folder"),
        ([member("x/a"), member("x/a")], "twice or in a folder that is none"),
        ([member("x/a"), member("x/a/b")], "twice or in a folder that is none"),
        ([member("x/b/a")], "twice or in a folder that is none"),
        ([member("x/a"), folder("x/a")], "twice or in a folder that is none"),
        ([folder("x/b/a")], "twice or in a folder that is none"),
        ([member(f"x/{'n' * 300}")], "a path of 300 characters, too long here"),
        ([folder(f"x/{'n' * 300}")], "a path of 300 characters, too long here"),
    ],
)
def test_what_could_do_harm_is_refused_and_nothing_changes(
    output: Path, members: list[tarfile.TarInfo], says: str
) -> None:
    with pytest.raises(BuildError, match=says):
        unpack(iter([archive(folder("x"), *members)]), output, most_bytes=ROOM)
    assert [path.name for path in output.iterdir()] == ["before"]
    assert [path.name for path in output.parent.iterdir()] == ["output"]


def test_a_file_that_says_it_is_huge_is_not_waited_for(output: Path) -> None:
    huge = member("x/huge")
    huge.size = 1 << 50
    taken: list[int] = []

    def chunks() -> object:
        for number in range(1 << 20):
            taken.append(number)
            yield huge.tobuf() if number == 0 else bytes(4096)

    with pytest.raises(BuildError, match="more than 1048576 bytes"):
        unpack(chunks(), output, most_bytes=ROOM)  # type: ignore[arg-type] # a generator of bytes
    assert len(taken) < 100


@pytest.mark.parametrize("data", [b"no archive", archive(member("x/a"))[:600]])
def test_half_an_archive_is_none(output: Path, data: bytes) -> None:
    with pytest.raises(BuildError):
        unpack(iter([data]), output, most_bytes=ROOM)
    assert [path.name for path in output.iterdir()] == ["before"]


def packed(root: Path, *places: Place) -> list[tarfile.TarInfo]:
    with pack(places, owner=7) as made, tarfile.open(fileobj=made) as tar:
        assert root.exists()
        return tar.getmembers()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/deep").mkdir(parents=True)
    (tmp_path / "project/deep/a.hip").write_text("a\n")
    (tmp_path / "project/run.sh").write_text("run\n")
    (tmp_path / "project/run.sh").chmod(0o700)
    return tmp_path / "project"


def test_what_is_sent_has_fixed_owners_times_and_order(project: Path) -> None:
    members = packed(project, Place(host=project, name="unit/project"))
    assert [one.name for one in members] == [
        "unit",
        "unit/project",
        "unit/project/deep",
        "unit/project/deep/a.hip",
        "unit/project/run.sh",
    ]
    assert {(one.uid, one.gid, one.mtime, one.uname) for one in members} == {(7, 7, 315532800, "")}
    assert [oct(one.mode) for one in members] == ["0o755", "0o755", "0o755", "0o644", "0o755"]


def test_a_place_that_is_not_sent_is_an_empty_folder(project: Path) -> None:
    assert [one.name for one in packed(project, Place(host=project, name="cache", sent=False))] == ["cache"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "link").symlink_to("nowhere"),
        lambda folder: __import__("os").mkfifo(folder / "pipe"),
    ],
)
def test_what_cannot_be_sent_is_named(project: Path, spoil: Callable[[Path], None]) -> None:
    spoil(project)
    with pytest.raises(InputError, match=r"project/(link|pipe)"):
        packed(project, Place(host=project, name="project"))
