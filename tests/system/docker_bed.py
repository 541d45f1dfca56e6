"""The test bed for containers: an engine, Debian's two base images without a registry, and the images of `debian`.

The engine is the one that this machine is configured for if it answers, else a dockerd of the tests' own, without a
bridge and without rules in the firewall, which is gone afterwards with all that it held. Base images come from the
Debian mirror that apt is set up with; their archives are kept in rocmatrix's cache folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest
from docker import DockerClient

from rocmatrix.digest import canonical_json, of_bytes
from rocmatrix.engine.connection import connect
from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.image import Image, ensure_image
from rocmatrix.images.loading import load_recipe
from rocmatrix.images.recipe import Recipe
from rocmatrix.machine.cache import cache_folder
from tests.system.debian import KEYS, mirror, missing_debian

_T = TypeVar("_T")

ROOT = Path(__file__).parents[2]
SUITES = ("trixie", "forky")
SCRIPTS = Path("/usr/share/debootstrap/scripts")
ENGINE_SECONDS = 120.0
DEBOOTSTRAP_SECONDS = 600.0

_NEW_SUITES = "sid"
"""debootstrap's script for suites that are younger than the debootstrap of this machine."""


@dataclass(frozen=True, kw_only=True)
class Bed:
    """An engine that answers; ``host`` as in ``DOCKER_HOST``, ``ours`` if the tests started it."""

    host: str
    client: DockerClient
    ours: bool


class OwnEngine:
    """A dockerd of the tests' own; everything of it is below ``folder``, which must be on a real disk.

    ``kill`` ends it as a crash would, ``start`` starts it again on the same data.
    """

    def __init__(self, folder: Path, *more: str) -> None:
        """Prepare; ``more`` are further arguments of dockerd."""
        self.folder = folder
        self.socket = folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers; on a busy machine its containerd may need a second try."""
        deadline = time.monotonic() + ENGINE_SECONDS
        while True:
            process = self._spawn()
            while process.poll() is None and time.monotonic() < deadline:
                if _answers(self.host):
                    return
                time.sleep(0.2)
            self.kill()
            if time.monotonic() >= deadline:
                said = (self.folder / "dockerd.log").read_text(errors="replace")[-2000:]
                pytest.fail(f"dockerd did not start:\n{said}", pytrace=False)

    def _spawn(self) -> subprocess.Popen[bytes]:
        (self.folder / "docker.pid").unlink(missing_ok=True)
        with (self.folder / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                (
                    *("dockerd", "--iptables=false", "--bridge=none"),
                    *("--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "exec")),
                    *("--pidfile", str(self.folder / "docker.pid"), "--host", self.host),
                    *self._more,
                ),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._process

    def kill(self) -> None:
        """End dockerd, its containerd and every container of it by SIGKILL, as if the machine had lost power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for process in _processes_of(self.folder):
            with suppress(ProcessLookupError):  # it ended by itself
                os.kill(process, 9)
        deadline = time.monotonic() + ENGINE_SECONDS
        while _processes_of(self.folder) and time.monotonic() < deadline:
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order, or by force, and unmount what it left."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=ENGINE_SECONDS)
        self.kill()
        for point in _mounts_below(self.folder):
            subprocess.run(("umount", "--lazy", point), check=False, capture_output=True, timeout=ENGINE_SECONDS)


@contextmanager
def own_engine(folder: Path, *more: str) -> Iterator[OwnEngine]:
    """Give an engine that is the caller's alone, started; it ends, and ``folder`` is removed, with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    engine = OwnEngine(folder, *more)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)


@cache
def missing_docker() -> str | None:
    """Return why there is no engine for tests, or ``None``."""
    if _configured() is None and not (shutil.which("dockerd") and os.geteuid() == 0):
        return "no docker engine answers, and there is no dockerd (Debian: docker.io) that root could start"
    return None


@cache
def missing_debian_images() -> str | None:
    """Return why the images of the recipe ``debian`` cannot be had here, or ``None``."""
    if (why := missing_docker()) is not None:
        return why
    if (why := missing_debian()) is not None:
        return why
    return None if shutil.which("debootstrap") else "there is no debootstrap"


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """An engine; ``DOCKER_HOST`` names it, so that every process of the tests uses it."""
    if (client := _configured()) is not None:
        yield Bed(host=os.environ.get("DOCKER_HOST", ""), client=client, ours=False)
        return
    before = os.environ.get("DOCKER_HOST")
    with own_engine(tmp_path_factory.mktemp("engine")) as engine:
        os.environ["DOCKER_HOST"] = engine.host
        try:
            client = connect()
            yield Bed(host=engine.host, client=client, ours=True)
            client.close()
        finally:
            os.environ.pop("DOCKER_HOST")
            if before is not None:
                os.environ["DOCKER_HOST"] = before


@pytest.fixture(scope="session")
def debian_bases(docker_engine: Bed) -> Mapping[str, str]:
    """The base images of both suites by suite, e.g. ``local/debian:trixie``; made where the engine lacks them."""
    return dict(zip(SUITES, _in_parallel(lambda suite: make_base(docker_engine.client, suite)), strict=True))


@pytest.fixture(scope="session")
def debian_images(docker_engine: Bed, debian_bases: Mapping[str, str]) -> Mapping[str, Image]:
    """The images of the recipe ``debian`` by suite, built where the engine lacks them."""
    assert set(debian_bases) == set(SUITES)
    made = _in_parallel(lambda suite: ensure_image(docker_engine.client, debian_recipe(suite)))
    return dict(zip(SUITES, made, strict=True))


def debian_recipe(suite: str) -> Recipe:
    """Return the recipe ``debian`` of a suite on the base of the test bed."""
    return load_recipe("debian", {"SUITE": suite, "BASE": base_name(suite)}, rocm=None, root=ROOT)


def base_name(suite: str) -> str:
    """Return how the engine knows the base image of a suite."""
    return f"local/debian:{suite}"


def make_base(client: DockerClient, suite: str) -> str:
    """Make the base image of a suite unless the engine has it, and return its name."""
    name = base_name(suite)
    if not client.images.list(name=name):
        archive = base_archive(suite)
        client.api.import_image_from_file(str(archive), name.partition(":")[0], suite, changes=['CMD ["/bin/bash"]'])
    return name


def base_archive(suite: str) -> Path:
    """Return the archive of a suite's minimal system, made by debootstrap unless the cache folder holds it."""
    source = mirror()
    assert source is not None, "missing_debian_images() says so"
    options = ("--variant=minbase", "--include=ca-certificates", f"--keyring={KEYS}")
    key = of_bytes(canonical_json([suite, source, *options, 2])).removeprefix("sha256:")[:12]
    place = cache_folder() / "test-bases" / f"{suite}-{key}.tar"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    root = place.with_name(f".{place.stem}-{os.getpid()}-{threading.get_ident()}")
    script = SCRIPTS / suite if (SCRIPTS / suite).exists() else SCRIPTS / _NEW_SUITES
    try:
        done = subprocess.run(
            ("debootstrap", *options, suite, str(root), source, str(script)),
            capture_output=True,
            text=True,
            check=False,
            timeout=DEBOOTSTRAP_SECONDS,
        )
        assert done.returncode == 0, f"debootstrap {suite} ended with {done.returncode}:\n{done.stdout[-2000:]}"
        for cached in (root / "var/cache/apt/archives").glob("*.deb"):
            cached.unlink()
        partial = root.with_suffix(".partial")
        with tarfile.open(partial, "w") as archive:
            archive.add(root, arcname=".")
        partial.rename(place)
    finally:
        for point in _mounts_below(root):
            subprocess.run(("umount", "--lazy", point), check=False, capture_output=True, timeout=ENGINE_SECONDS)
        shutil.rmtree(root, ignore_errors=True)
    return place


def _in_parallel(work: Callable[[str], _T]) -> list[_T]:
    with ThreadPoolExecutor(len(SUITES)) as pool:
        return list(pool.map(work, SUITES))


@cache
def _configured() -> DockerClient | None:
    """Return a client of the engine that this machine is configured for, or ``None`` if none answers."""
    try:
        return connect()
    except MissingRequirementError:
        return None


def _answers(host: str) -> bool:
    with socket.socket(socket.AF_UNIX) as trial:  # docker-py leaves a socket open when there is nobody
        if trial.connect_ex(host.removeprefix("unix://")):
            return False
    client = DockerClient(base_url=host, version="1.41", timeout=5)
    try:
        return bool(client.ping())
    except Exception:  # noqa: BLE001 - whatever it is, the engine does not answer yet
        return False
    finally:
        client.close()


def _processes_of(folder: Path) -> list[int]:
    """Return the processes whose command line names the folder: dockerd, containerd, shims and what runs below them."""
    found: dict[int, int] = {}
    ours: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z":
            continue
        found[int(entry.name)] = int(parent)
        if os.fsencode(f"{folder}/") in words:
            ours.add(int(entry.name))
    grown = True
    while grown:
        below = {process for process, parent in found.items() if parent in ours}
        grown = not below <= ours
        ours |= below
    return sorted(ours - {os.getpid()})


def _mounts_below(folder: Path) -> list[str]:
    """Return mount points below a folder, the deepest first."""
    points = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return sorted((point for point in points if point.startswith(f"{folder}/")), key=len, reverse=True)
