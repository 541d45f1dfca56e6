"""The container of a GPU check on a real docker engine, with a device node in the place of a GPU's."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.check.on_gpu.choice import Wanted, make_gpu_executor, promises_of
from rocmatrix.check.on_gpu.executor import ChosenImage, Device, GpuExecutor
from rocmatrix.check.on_gpu.inside.wire import BEGAN
from rocmatrix.check.on_gpu.session import Session
from rocmatrix.check.on_gpu.verdict import ran_cases
from rocmatrix.check.options import CheckOptions
from rocmatrix.engine.devices import DeviceAccess
from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.errors import CheckError, MissingRequirementError
from rocmatrix.gpu.image import find_image, local_engine
from rocmatrix.gpu.machine import Machine
from rocmatrix.plan.matrix_model import CheckImage
from tests.system import gpu_bed
from tests.system.docker_bed import Bed, make_base
from tests.system.torch_image import build_torch_image
from tests.unit.gpu.machine import MI300X, nodes

pytestmark = pytest.mark.needs_docker

GROUP = 54321
"""A group that no image has a name for."""


@pytest.fixture(scope="module")
def base(docker_engine: Bed) -> str:
    """The id of an image without a Python."""
    return str(docker_engine.client.images.get(make_base(docker_engine.client, "trixie")).id)


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A device node that root and one group may open: the one of ``/dev/zero``, made anew below ``/var/tmp``."""
    path = Path("/var/tmp") / f"rocmatrix-test-{tmp_path_factory.getbasetemp().name}-{os.getpid()}"  # noqa: S108 - a container has a /tmp of its own
    try:
        os.mknod(path, stat.S_IFCHR | 0o660, os.makedev(1, 5))
        os.chown(path, 0, GROUP)
        path.chmod(0o660)
    except PermissionError:
        pytest.skip("only root can make a device node")
    yield path
    path.unlink()


def engine(image: str, access: DeviceAccess) -> DockerEngine:
    return DockerEngine(lambda _client: image, ninja="", environment={}, devices=access)


def said(image: str, access: DeviceAccess, script: str) -> Completed:
    with closing(engine(image, access)) as container:
        return container.run(Command(argv=("sh", "-c", script), cwd=Path("/"), timeout=60.0))


def test_a_container_opens_its_device_by_the_number_of_a_group_and_has_nothing_else(base: str, node: Path) -> None:
    script = f"""
    id -G; id -u; head -c 3 {node} | od -An -tx1
    grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; ls /sys/class/net; touch /file 2>&1
    """
    done = said(base, DeviceAccess(nodes=(str(node),), groups=(GROUP,)), script)
    assert [line.strip() for line in done.output.splitlines()] == [
        f"1000 {GROUP}",
        "1000",
        "00 00 00",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        "lo",
        "touch: cannot touch '/file': Read-only file system",
    ]


def test_without_the_group_the_device_cannot_be_opened(base: str, node: Path) -> None:
    done = said(base, DeviceAccess(nodes=(str(node),)), f"head -c 3 {node}")
    assert done.returncode == 1
    assert "Permission denied" in done.output


def test_a_build_gets_no_device(base: str, node: Path) -> None:
    assert said(base, DeviceAccess(), f"test -e {node}").returncode == 1


def test_what_is_compiled_while_cases_run_can_be_loaded(base: str, tmp_path: Path) -> None:
    """As Triton does it below the home folder; a container's ``/tmp`` lets nothing be executed."""

    class Shell(DockerEngine):
        def run(self, command: Command) -> Completed:
            script = "for folder in $HOME $TMPDIR; do cp /bin/true $folder/made && $folder/made && echo loaded; done"
            return super().run(Command(**{**vars(command), "argv": ("sh", "-c", script)}))

    (tmp_path / "payload").mkdir()
    with closing(Shell(lambda _client: base, ninja="", environment={})) as container:
        session = Session(host=HostEngine(), container=container, room="unit", folder=tmp_path)
        ran = session.run(tmp_path / "payload", tmp_path / "payload", (), 60.0, print)
    assert ran.done.output == "loaded\nloaded\n"


def test_an_image_without_a_python_is_refused_with_what_it_needs(base: str, tmp_path: Path) -> None:
    with closing(engine(base, DeviceAccess())) as container:
        session = Session(host=HostEngine(), container=container, room="unit", folder=tmp_path)
        with pytest.raises(MissingRequirementError, match=r"cannot load torch .exit status 127") as caught:
            session.identity()
    assert "python3: not found" in str(caught.value)
    assert "import torch" in str(caught.value)


def test_a_container_that_does_not_end_is_killed_and_the_case_that_ran_is_known(
    docker_engine: Bed, base: str, tmp_path: Path
) -> None:
    """A Python that hangs as a process does that a GPU holds: it reports its case, and stays whatever is done."""
    for name in ("payload", "inputs", "tools"):
        (tmp_path / name).mkdir()
    python = tmp_path / "tools" / "python"
    python.write_text(f"#!/bin/sh\necho '{BEGAN} 0'; echo '{BEGAN} 1'\ntrap '' TERM INT; while :; do sleep 1; done\n")
    python.chmod(0o755)
    before = {each.id for each in docker_engine.client.containers.list(all=True)}

    class WithPython(DockerEngine):
        def run(self, command: Command) -> Completed:
            words = ("sh", "-c", python.read_text().partition("\n")[2], *command.argv[1:])
            return super().run(Command(**{**vars(command), "argv": words}))

    with closing(WithPython(lambda _client: base, ninja="", environment={})) as container:
        session = Session(host=HostEngine(), container=container, room="unit", folder=tmp_path)
        ran = session.run(tmp_path / "payload", tmp_path / "inputs", ("one", "two"), 8.0, print)
        assert not {each.id for each in docker_engine.client.containers.list(all=True)} - before
    (case,) = ran_cases(ran, ("one", "two"), {"one": 1.0, "two": 1.0})
    assert case.name == "two"
    assert "the container was killed after 8 s while this case ran" in case.wrong[0]
    assert "the results of the 1 cases before it went with the container" in case.wrong[0]


def test_an_image_is_found_by_name_and_none_is_pulled(docker_engine: Bed) -> None:
    name = make_base(docker_engine.client, "trixie")
    with closing(local_engine()) as client:
        found = find_image(client, name)
        assert found.id == str(docker_engine.client.images.get(name).id)
        with pytest.raises(MissingRequirementError, match="does not have the image local/nobody:ever") as caught:
            find_image(client, "local/nobody:ever")
    assert "docker pull local/nobody:ever" in str(caught.value)


def test_everything_is_put_together_as_for_a_real_gpu_and_ends_at_an_image_without_torch(
    docker_engine: Bed, tmp_path: Path, node: Path
) -> None:
    """The way of ``check --on gpu`` from what the driver says to the first command in a container with the device."""
    name = make_base(docker_engine.client, "trixie")
    built = gpu_bed.build(tmp_path)
    with device_folder(node) as devices:
        machine = Machine(nodes=nodes(tmp_path, MI300X), drm=tmp_path, driver_version=tmp_path, devices=devices)
        wanted = Wanted(
            plan=built.plan,
            units=built.plan.units,
            images=lambda: (CheckImage(torch="2.13", rocm="7.2", reference=name, where="matrix.yaml:6"),),
        )
        executor = make_gpu_executor(CheckOptions(), wanted, host=HostEngine(), emit=print, machine=machine)
        assert executor.description.startswith("MI300X (gfx942), /dev/dri/renderD128, amdgpu of Linux ")
        with pytest.raises(MissingRequirementError, match="cannot load torch"):
            executor.run(built.unit, built.payload, built.tests, (), progress=lambda *_: None)


@contextmanager
def device_folder(node: Path) -> Iterator[Path]:
    """Give a folder of device nodes as a machine with one GPU has it; a container has a ``/tmp`` of its own."""
    folder = node.with_name(f"{node.name}-dev")
    (folder / "dri").mkdir(parents=True)
    try:
        for name in ("kfd", "dri/renderD128"):
            os.mknod(folder / name, stat.S_IFCHR | 0o660, node.stat().st_rdev)
            os.chown(folder / name, 0, GROUP)
            (folder / name).chmod(0o660)
        yield folder
    finally:
        shutil.rmtree(folder)


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2376")
    with pytest.raises(MissingRequirementError, match="on another machine"):
        local_engine()


def test_no_engine_is_told_as_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with pytest.raises(MissingRequirementError, match="no docker engine is running"):
        local_engine()


def test_of_an_image_s_variables_only_what_python_needs_is_passed_on(docker_engine: Bed, base: str) -> None:
    name = "local/rocmatrix-test-variables"
    made = docker_engine.client.api.create_container(
        base, ["true"], environment={"PATH": "/opt/venv/bin:/bin", "HSA_OVERRIDE_GFX_VERSION": "9.4.2", "TOKEN": "x"}
    )
    try:
        docker_engine.client.api.commit(made["Id"], repository=name, tag="latest")
        with closing(local_engine()) as client:
            assert find_image(client, name).environment == {"PATH": "/opt/venv/bin:/bin"}
    finally:
        docker_engine.client.api.remove_container(made["Id"])
        docker_engine.client.images.remove(name)


@pytest.mark.needs_torch
def test_the_cases_run_in_a_container_with_a_torch_and_a_cpu_torch_is_refused(
    docker_engine: Bed, base: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """The whole way through a container, but for the GPU; the image is a copy of this Python and takes a minute."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("an image with a torch is a gigabyte: --long makes one")
    assert base
    client, name = docker_engine.client, "local/rocmatrix-test-torch"
    (tmp_path / "image").mkdir()
    built = gpu_bed.build(tmp_path)
    build_torch_image(client, make_base(client, "trixie"), name, tmp_path / "image")
    try:
        with closing(local_engine()) as own:
            image = find_image(own, name)
        names = ("scale", "product", "wrong", "crashes", "total", "hangs", "spins")
        limits = {each: 5.0 if each == "hangs" else 60.0 for each in names}
        with closing(DockerEngine(lambda _client: image.id, ninja="", environment=image.environment)) as container:
            (tmp_path / "work").mkdir()
            session = Session(
                host=HostEngine(), container=container, room="unit", folder=tmp_path / "work", device="cpu"
            )
            assert session.identity().hip is None
            ran = session.run(built.payload, session.prepare(built.tests, limits, 3), names, 300.0, print)
            results = session.compare(built.tests, ran.results, ran_cases(ran, names, limits), 3)
            (tmp_path / "links").mkdir()
            session = replace(session, folder=tmp_path / "links", room="links")
            inputs = session.prepare(built.tests, {"links": 60.0}, 3)
            with pytest.raises(CheckError, match=r"the kernel left '0-1.bin', which is neither a file nor a folder"):
                ran_cases(session.run(built.payload, inputs, ("links",), 60.0, print), ("links",), {"links": 60.0})
        assert [(result.case, result.passed) for result in results] == [
            *(("scale", True), ("product", True), ("wrong", False), ("crashes", False), ("total", True)),
            ("hangs", False),
        ]
        chosen = ChosenImage(image=image, promises=promises_of(built.plan, built.unit))
        device = Device(gpu=gpu_bed.GPU, access=DeviceAccess(), driver="none")
        executor = GpuExecutor(host=HostEngine(), device=device, images={built.unit.id: chosen})
        with pytest.raises(MissingRequirementError, match=r"torch\.version\.hip is None"):
            executor.run(built.unit, built.payload, built.tests, (), progress=lambda *_: None)
    finally:
        client.images.remove(name, force=True)
