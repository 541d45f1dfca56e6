"""Parts of the engine docker that need no engine: paths, limits, owners, frames, and what its failures mean."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.engine.connection import connect, engine_name, labels_of
from rocmatrix.engine.limits import Limits, parse_limits
from rocmatrix.engine.owner import parse_owner, this_process
from rocmatrix.engine.paths import PathMap
from rocmatrix.engine.stream import Frames
from rocmatrix.errors import InputError, MissingRequirementError

PATHS = PathMap(
    (
        ("/home/me/dist/work/unit/project", "/rocmatrix/in/project"),
        ("/home/me/dist/work/unit/project-2", "/rocmatrix/in/other"),
        ("/home/me/dist/work/unit", "/rocmatrix/out/unit"),
    )
)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("/home/me/dist/work/unit/project/a.hip", "/rocmatrix/in/project/a.hip"),
        ("-I/home/me/dist/work/unit/project-2", "-I/rocmatrix/in/other"),
        ("-ffile-prefix-map=/home/me/dist/work/unit/project=.", "-ffile-prefix-map=/rocmatrix/in/project=."),
        ("/home/me/dist/work/unit/a:/home/me/dist/work/unit", "/rocmatrix/out/unit/a:/rocmatrix/out/unit"),
        ("/home/me/dist/work/unit/projects", "/rocmatrix/out/unit/projects"),
        ("/home/me/dist/work/units", "/home/me/dist/work/units"),
        ("/usr/bin/hipcc", "/usr/bin/hipcc"),
    ],
)
def test_paths_are_translated_by_whole_components_and_back(here: str, there: str) -> None:
    assert PATHS.inward(here) == there
    assert PATHS.outward(there) == here


def test_limits_are_read_as_people_write_them() -> None:
    limits = parse_limits(["memory=16G", "disk=512M", "cpus=1.5", "processes=100", "time=60"])
    assert limits == Limits(seconds=60.0, memory=16 << 30, cpus=1.5, processes=100, disk=512 << 20)


def test_what_limits_leave_open_is_taken_from_the_engine() -> None:
    assert Limits().on(memory=10 << 30, cpus=4) == replace(
        Limits(), memory=int(0.8 * (10 << 30)), cpus=4, disk=int(0.8 * (10 << 30)) // 2
    )
    assert Limits(cpus=64.0).on(memory=1 << 30, cpus=4).cpus == 4, "an engine refuses more than it has"


@pytest.mark.parametrize("word", ["memory", "memory=", "memory=1k", "memory=12", "time=-1", "cpus=nan", "files=1", ""])
def test_a_limit_that_is_none_is_named(word: str) -> None:
    with pytest.raises(InputError, match="--limit"):
        parse_limits([word])


def test_an_owner_lives_until_its_process_ends() -> None:
    program = "from rocmatrix.engine.owner import this_process; print(this_process(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")},
    ) as process:
        assert process.stdout is not None
        owner = parse_owner(process.stdout.readline().strip())
        assert owner is not None
        assert not owner.is_gone
        process.communicate("\n", timeout=30)
    assert owner.is_gone


def test_of_others_nobody_knows_whether_they_live() -> None:
    here = this_process()
    assert not here.is_gone
    assert not replace(here, machine="another", started=1).is_gone
    assert not replace(here, namespace="another", started=1).is_gone
    assert replace(here, boot="an earlier one").is_gone
    assert replace(here, started=here.started + 1).is_gone, "the number belongs to another process now"


@pytest.mark.parametrize("text", ["", "a:b:c:d:e", "a:b:c:1", "a:b:c:1:2:3", "a:b:c:-1:2"])
def test_what_is_no_owner_is_none(text: str) -> None:
    assert parse_owner(text) is None


def test_labels_name_the_owner_and_nothing_of_this_machine() -> None:
    labels = labels_of("builder")
    assert parse_owner(labels["rocmatrix.owner"]) == this_process()
    assert os.uname().nodename not in str(labels)


def test_frames_are_put_together_however_they_arrive() -> None:
    data = b"".join(bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text for stream, text in
                    ((1, b"out\n"), (2, b"error\n"), (1, b""), (1, b"more")))  # fmt: skip
    for size in (1, 3, 8, 9, 1000):
        frames = Frames()
        parts = [frames.take(data[start : start + size]) for start in range(0, len(data), size)]
        assert b"".join(parts) == b"out\nerror\nmore"


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("unix:///nowhere/docker.sock", "no docker engine is running"),
        ("tcp://127.0.0.1:1", "no docker engine is running"),
        ("tcp://no-such-host.invalid:2375", "the host of the docker engine is not known"),
        ("tcp://nowhere", "the address of the docker engine is not one"),
        ("fd://3", "the address of the docker engine is not one"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_is_not_there_is_one_message(host: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(MissingRequirementError, match=says) as caught:
        connect()
    assert caught.value.where == host
    assert caught.value.fix


def test_a_socket_that_this_user_may_not_use_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        program = (
            "import os, docker, docker.context, requests\n"
            "from rocmatrix.engine.connection import connect\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "try:\n    connect()\n"
            "except Exception as err:\n    print(err)"
        )
        path.chmod(0o600)
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")
        for parent in list(path.parents)[:3]:
            parent.chmod(0o755)
        source = str(Path(__file__).parents[3] / "src")
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": source, "DOCKER_HOST": f"unix://{path}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert "this user may not use the socket of the docker engine" in done.stdout, done


def test_a_password_in_the_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me:secret@there:22")
    assert engine_name() == "ssh://me:***@there:22"
