"""The builder buildx, through the docker command line: used where its plugin is, with a registry's cache if named."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.build_failure import BuildLog, failure
from rocmatrix.images.options import Order

BUILDERS = ("auto", "classic", "buildx")
_ANSWER_SECONDS = 60


@cache
def version() -> str | None:
    """Return what ``docker buildx version`` says, or ``None`` if there is no such plugin."""
    try:
        done = subprocess.run(
            ("docker", "buildx", "version"), capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def chosen(builder: str) -> bool:
    """Whether buildx builds.

    Raises:
        MissingRequirementError: it was asked for and is not there.
    """
    if builder == "buildx" and version() is None:
        fix = "Install docker and its buildx plugin (Debian: docker-cli, docker-buildx), or leave --builder out."
        raise MissingRequirementError("`docker buildx version` does not run on this machine", fix=fix)
    return builder == "buildx" or (builder == "auto" and version() is not None)


def command(order: Order) -> tuple[str, ...]:
    """Return the command, which reads the context from its standard input.

    Proxies are named without their values, which the command takes from its environment: they may hold passwords, and
    other users of this machine see command lines. All other arguments come from recipes, and no name that one gives to
    an argument, such as ``PATH`` or ``DOCKER_HOST``, may be a variable of a command on this machine.
    """
    proxies, cache = _proxies(order), order.options.cache
    arguments = (name if name in proxies else f"{name}={value}" for name, value in order.arguments.items())
    cached = ("--cache-from", f"type=registry,ref={cache}", "--cache-to", f"type=registry,ref={cache},mode=max")
    return (
        *("docker", "buildx", "build", "--progress", "plain", "--load", "--platform", "linux/amd64"),
        *("--provenance", "false", "--tag", order.recipe.reference),
        *(word for argument in arguments for word in ("--build-arg", argument)),
        *(("--network", order.network) if order.network else ()),
        *(cached if cache else ()),
        "-",
    )


def build(order: Order) -> None:
    """Build and load the image into the engine; raises as ``rocmatrix.images.building.build`` does."""
    log = BuildLog(order.recipe)
    with tempfile.TemporaryFile() as sent:
        sent.write(order.context)
        sent.seek(0)
        with subprocess.Popen(
            command(order),
            stdin=sent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_proxies(order)},
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                log.add(line.rstrip("\n"))
                order.options.progress(line.rstrip("\n"))
    if process.returncode != 0:
        raise failure(log, next((line for line in reversed(log.lines) if line.startswith("ERROR:")), "buildx failed"))


def _proxies(order: Order) -> dict[str, str]:
    """Return the arguments that are proxies of the caller's site."""
    return {name: value for name, value in order.arguments.items() if name.lower() in order.options.proxies}
