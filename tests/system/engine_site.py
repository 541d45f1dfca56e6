"""Small things to build in containers that have nothing but Debian's minimal system: what is tested is the engine.

Also a program that builds: ``python -m tests.system.engine_site ROOT IMAGE PAUSE``.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docker import DockerClient

from rocmatrix.engine.confinement import INPUTS
from rocmatrix.engine.connection import OWNER_LABEL
from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.host import ninja_program
from rocmatrix.engine.limits import Limits
from rocmatrix.engine.paths import Place
from tests.unit.build.small import Site, SmallToolchain

NINJA = Place(host=ninja_program(), name="ninja")
"""The host's ninja: the images of recipes have one of their own, Debian's minimal system has none."""

LIMITS = Limits(memory=256 << 20, processes=128, disk=64 << 20, printed=4 << 20)


def make_engine(image: str, limits: Limits = LIMITS, *, keep: bool = False) -> DockerEngine:
    """Return an engine for an image that the engine has."""
    return DockerEngine(
        lambda client: str(client.images.get(image).id),
        ninja=f"{INPUTS}/{NINJA.name}",
        environment={},
        limits=limits,
        keep=keep,
    )


@contextmanager
def site_of(root: Path, engine: DockerEngine, *, pause: float = 0.0) -> Iterator[Site]:
    """Give a source root whose units are built by an engine, which is closed afterwards."""
    toolchain = SmallToolchain(folder=root, pause=pause, places=(NINJA,))
    try:
        yield Site(root=root, toolchain=toolchain, engine=engine)
    finally:
        engine.close()


def ours(client: DockerClient, owner: str | None = None) -> list[str]:
    """Return what rocmatrix has in an engine: containers and volumes of one owner, or of any."""
    label = f"{OWNER_LABEL}={owner}" if owner else OWNER_LABEL
    containers = [f"container {one['Id'][:12]}" for one in client.api.containers(all=True, filters={"label": label})]
    volumes = client.api.volumes(filters={"label": label})["Volumes"] or []
    return [*containers, *(f"volume {one['Name'][:12]}" for one in volumes)]


def left_after(client: DockerClient, before: list[str], owner: str | None = None, seconds: float = 20.0) -> list[str]:
    """Return what is there that was not there before, once it had time to go."""
    deadline = time.monotonic() + seconds
    while (left := sorted(set(ours(client, owner)) - set(before))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


if __name__ == "__main__":
    with site_of(Path(sys.argv[1]), make_engine(sys.argv[2]), pause=float(sys.argv[3])) as built:
        records = built.build("2.12", "2.13", "2.14", use_cache="--no-cache" not in sys.argv)
    failed = [record.error for record in records if record.error]
    raise SystemExit("\n".join(failed) if failed else 0)
