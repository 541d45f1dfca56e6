"""Containers that build: what a command in one can do, what it cannot, and what is left of it."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.engine.owner import this_process
from rocmatrix.engine.paths import Place
from rocmatrix.errors import BuildError
from tests.system.docker_bed import Bed, make_base
from tests.system.engine_site import LIMITS, left_after, make_engine, ours

pytestmark = pytest.mark.needs_docker

ME = str(this_process())
SECRET = "hf_engine_test_2f6b1f0c"  # noqa: S105 - planted, and opens nothing


@pytest.fixture(scope="module")
def image(docker_engine: Bed) -> str:
    """Debian's minimal system."""
    return make_base(docker_engine.client, "trixie")


@dataclass
class Bench:
    """An engine, and a project, a work folder and an output folder that its commands have."""

    engine: DockerEngine
    folder: Path
    client: Bed

    @property
    def places(self) -> tuple[Place, ...]:
        return (
            Place(host=self.folder / "project", name="project"),
            Place(host=self.folder / "work", name="unit/work", writable=True),
            Place(host=self.folder / "output", name="unit/output", writable=True, fetched=True),
        )

    def run(self, script: str, *, timeout: float = 60.0, room: str = "kernel", by: str = "sh") -> Completed:
        command = Command(
            argv=(
                by,
                "-c",
                script.replace("PROJECT", str(self.folder / "project")).replace("OUTPUT", str(self.folder / "output")),
            ),
            cwd=self.folder / "work",
            timeout=timeout,
            writable=(self.folder / "output",),
            places=self.places,
            room=room,
        )
        return self.engine.run(command)


@pytest.fixture(scope="module")
def bench(image: str, docker_engine: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("bench")
    for name in ("project", "work", "output"):
        (folder / name).mkdir()
    (folder / "project" / "kernel.hip").write_text("a kernel\n")
    before = ours(docker_engine.client, ME)
    os.environ["HF_TOKEN"] = SECRET
    engine = make_engine(image)
    try:
        yield Bench(engine=engine, folder=folder, client=docker_engine)
    finally:
        del os.environ["HF_TOKEN"]
        engine.close()
    assert left_after(docker_engine.client, before, ME) == []


def test_sources_are_there_and_results_come_back(bench: Bench) -> None:
    done = bench.run("pwd; cat PROJECT/kernel.hip; echo made > OUTPUT/made.so; ls /rocmatrix/in /rocmatrix/out/unit")
    assert done.returncode == 0, done.output
    assert done.output.splitlines() == [
        str(bench.folder / "work"),
        "a kernel",
        "/rocmatrix/in:",
        "project",
        "",
        "/rocmatrix/out/unit:",
        "output",
        "work",
    ]
    assert [path.name for path in (bench.folder / "output").iterdir()] == ["made.so"]
    assert (bench.folder / "output/made.so").read_text() == "made\n"


def test_a_command_is_an_ordinary_user_without_rights(bench: Bench) -> None:
    done = bench.run("id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ls /sys/class/net")
    none = "0" * 16
    assert done.output.split() == f"1000 CapEff: {none} CapBnd: {none} NoNewPrivs: 1 Seccomp: 2 lo".split()


def test_a_command_sees_only_the_variables_that_were_named(bench: Bench) -> None:
    done = bench.run("env | cut -d= -f1 | sort | tr '\\n' ' '")
    own = "HOME LC_ALL OLDPWD PATH PWD PYTHONDONTWRITEBYTECODE ROCMATRIX_COMMAND SOURCE_DATE_EPOCH TMPDIR TZ"
    assert done.output.split() == own.split()


def test_a_secret_of_the_caller_is_nowhere(bench: Bench) -> None:
    done = bench.run("env; tr '\\0' '\\n' </proc/1/environ; cat /etc/hosts /etc/resolv.conf; ls -la / /rocmatrix")
    client = bench.client.client
    containers = [client.api.inspect_container(one["Id"]) for one in client.api.containers(all=True)]
    assert containers
    images = [client.images.get(one["Image"]).attrs for one in containers]
    for text in (done.output, str(containers), str(images)):
        assert SECRET not in text
        assert str(bench.folder) not in text.replace(done.output, "")


@dataclass(frozen=True)
class Abuse:
    """What a command tries, and what comes of it: text in its output, or why the engine ended it."""

    name: str
    script: str
    says: str = ""
    stopped: str = ""
    timeout: float = 60.0
    by: str = "sh"


ABUSES = (
    Abuse("network", "exec 3<>/dev/tcp/192.0.2.1/80", says="Network is unreachable", by="bash"),
    Abuse("sources", "echo x >> PROJECT/kernel.hip", says="Permission denied"),
    Abuse("new source", "echo x > PROJECT/more.hip", says="Read-only file system"),
    Abuse("root", "touch /usr/bin/x", says="Read-only file system"),
    Abuse("home of root", "ls /root", says="Permission denied"),
    Abuse("mount", "mount -t tmpfs none /mnt", says="must be superuser"),
    Abuse("memory", "head -c 400M /dev/zero | tail", says="Killed", stopped="it ran out of memory: 256 MiB"),
    Abuse("disk", "head -c 100M /dev/zero > OUTPUT/big; s=$?; rm OUTPUT/big; exit $s", says="No space left on device"),
    Abuse("tmp", "head -c 100M /dev/zero > /tmp/big; s=$?; rm /tmp/big; exit $s", says="No space left on device"),
    Abuse("processes", "for i in $(seq 300); do sleep 30 & done; wait", stopped="it ran out of processes: 128"),
    Abuse("forks", ":(){ :|:& };: ; sleep 2; exit 1", stopped="", timeout=20.0, by="bash"),
    Abuse("time", "sleep 100 & sleep 100", stopped="it was ended after 2 seconds", timeout=2.0),
    Abuse("output", "yes 0123456789", stopped="it printed more than 4 MiB"),
    Abuse("100 MB in one line", "head -c 100000000 /dev/zero", stopped="it printed more than 4 MiB"),
)


@pytest.mark.parametrize("abuse", ABUSES, ids=lambda abuse: abuse.name.replace(" ", "-"))
def test_what_a_build_must_not_do_fails_with_a_reason_and_harms_nothing(bench: Bench, abuse: Abuse) -> None:
    started = time.monotonic()
    done = bench.run(abuse.script, timeout=abuse.timeout, by=abuse.by)
    assert done.returncode != 0
    assert abuse.says in done.output
    assert abuse.stopped in (done.stopped or "")
    assert len(done.output) < 2 * LIMITS.printed
    assert time.monotonic() - started < abuse.timeout + 20
    after = bench.run("cat PROJECT/kernel.hip; ls PROJECT; cat /proc/[0-9]*/comm | sort | uniq | tr '\\n' ' '")
    assert after.returncode == 0, after
    kernel, file, *running = after.output.splitlines()[0], *after.output.splitlines()[1:]
    assert (kernel, file) == ("a kernel", "kernel.hip")
    assert set(" ".join(running).split()) <= {"cat", "sh", "sort", "tr", "uniq"}


def test_what_a_command_left_running_is_ended_with_it(bench: Bench) -> None:
    done = bench.run("sleep 300 & setsid sleep 300 & (setsid sh -c 'sleep 300' &) ; echo left")
    assert (done.returncode, done.output) == (0, "left\n"), done
    assert "sleep" not in bench.run("cat /proc/[0-9]*/comm").output


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("ln -s /etc/passwd OUTPUT/link", "'link', which is neither a file nor a folder"),
        ("ln -s / OUTPUT/folder", "'folder', which is neither a file nor a folder"),
        ("mkfifo OUTPUT/pipe", "'pipe', which is neither a file nor a folder"),
        ("truncate -s 1T OUTPUT/sparse", "more than 67108864 bytes"),
    ],
)
def test_results_that_could_do_harm_are_not_taken(bench: Bench, script: str, says: str) -> None:
    bench.run("rm -rf OUTPUT/*")
    (bench.folder / "output" / "kept.so").write_text("as it was\n")
    with pytest.raises(BuildError, match=says):
        bench.run(script)
    assert [path.name for path in (bench.folder / "output").iterdir()] == ["kept.so"]


def test_one_command_that_takes_the_container_with_it_costs_the_others_nothing(bench: Bench) -> None:
    lines: list[str] = []
    done: list[Completed] = []

    def other() -> None:
        command = Command(
            argv=("sh", "-c", "echo begun; sleep 4; echo made"),
            cwd=Path("/"),
            timeout=60.0,
            on_line=lines.append,
            room="kernel",
        )
        done.append(bench.engine.run(command))

    thread = threading.Thread(target=other)
    thread.start()
    while not lines:
        time.sleep(0.05)
    assert bench.run("sleep 100", timeout=1.0).stopped
    thread.join()
    assert done[0].returncode == 0
    assert done[0].output == "begun\nmade\n"
    assert lines == [
        "begun",
        "rocmatrix: another unit's command took this container with it; again in a new one",
        "begun",
        "made",
    ]


def test_commands_of_a_room_share_one_container_and_questions_take_it_too(image: str, docker_engine: Bed) -> None:
    before = ours(docker_engine.client, ME)
    engine = make_engine(image)
    try:
        engine.run(Command(argv=("true",), cwd=Path("/"), timeout=30.0))
        for _ in range(2):
            engine.run(Command(argv=("true",), cwd=Path("/"), timeout=30.0, room="kernel"))
        assert len([one for one in set(ours(docker_engine.client, ME)) - set(before) if "container" in one]) == 1
        engine.release("kernel")
        assert left_after(docker_engine.client, before, ME) == []
    finally:
        engine.close()


def test_an_interrupt_ends_what_runs_and_what_is_started_later(image: str, docker_engine: Bed) -> None:
    before = ours(docker_engine.client, ME)
    engine = make_engine(image)
    started = threading.Event()
    command = Command(
        argv=("sh", "-c", "echo begun; sleep 100"), cwd=Path("/"), timeout=90.0, on_line=lambda _: started.set()
    )

    def interrupt() -> None:
        started.wait(60)
        engine.interrupt()

    threading.Thread(target=interrupt).start()
    clock = time.monotonic()
    assert engine.run(command).returncode != 0
    assert engine.run(replace(command, argv=("sleep", "100"))).returncode != 0
    assert time.monotonic() - clock < 60
    engine.close()
    assert left_after(docker_engine.client, before, ME) == []


def test_a_failed_command_can_be_looked_at_where_it_failed(image: str, docker_engine: Bed) -> None:
    before = ours(docker_engine.client, ME)
    engine = make_engine(image, keep=True)
    done = engine.run(
        Command(argv=("sh", "-c", "echo seen > /rocmatrix/out/trace; exit 1"), cwd=Path("/"), timeout=30.0)
    )
    engine.close()
    assert done.kept
    container = done.kept[done.kept.index("env") - 1]
    try:
        _, output = docker_engine.client.containers.get(container).exec_run(["cat", "/rocmatrix/out/trace"])
        assert output == b"seen\n"
    finally:
        docker_engine.client.api.remove_container(container, force=True, v=True)
    assert left_after(docker_engine.client, before, ME) == []


def test_with_keep_what_went_well_is_removed(image: str, docker_engine: Bed) -> None:
    before = ours(docker_engine.client, ME)
    engine = make_engine(image, keep=True)
    done = engine.run(Command(argv=("true",), cwd=Path("/"), timeout=30.0))
    engine.close()
    assert done.kept is None
    assert left_after(docker_engine.client, before, ME) == []
